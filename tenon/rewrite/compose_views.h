// Views of views as one: transposes, reshapes and slices of each other, and slices of what was put together.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A batch of calls brings each result's lanes to the front and takes them back in what reads it: such pairs become one
// transpose, or none, so that the passes behind see a loop's stacks in the loops that read them. So do reshapes of
// reshapes and slices of slices; and a slice of a concatenation that lies in one of its parts is a slice of that part,
// so that what takes apart what was just stacked reads the values themselves, and the stack is never built. Elementwise
// ops and concatenations of transposes are transposes of such, as is what only a transpose reads of arrays that are
// there transposed; and so are reductions that take the elements in the same order. In regions too. Exact; time is
// linear in the eqns, times the views one reads through; memoised.
ProgramRef compose_views(const ProgramRef& program);

}  // namespace tenon
