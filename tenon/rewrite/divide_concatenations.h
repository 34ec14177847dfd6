// Reductions of what is put together of a loop's stack and other arrays, as reductions of each of these.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A path is often the state before a loop and what its steps stack, concatenated; and a scan whose turns do several
// steps is put together of what the turns give and of what is left; a pad puts numbers around a stack. Where nothing
// but reductions along the axis of a concatenation reads it, by elementwise ops, slices, transposes, broadcasts and
// reductions over other axes, each part of it is read so by itself, the results are combined, and the concatenation is
// never built. What is read beside it is cut alike; arrays that are cut at different places, as the steps of a path and
// those before them, are cut at both. In regions too. Exactness: reassociates (sums and products of Numerics::strict
// stay). Linear in the eqns, times the parts, of which there are few; memoised.
ProgramRef divide_concatenations(const ProgramRef& program);

}  // namespace tenon
