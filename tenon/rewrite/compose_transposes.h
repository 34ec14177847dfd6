// Transposes of transposes as one.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A batch of calls brings each result's lanes to the front and takes them back in what reads it: such pairs become one
// transpose, or none, so that the passes behind see a loop's stacks in the loops that read them. In regions too. Exact;
// linear in the eqns; memoised.
ProgramRef compose_transposes(const ProgramRef& program);

}  // namespace tenon
