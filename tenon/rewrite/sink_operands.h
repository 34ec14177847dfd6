// What a loop reads step by step, computed in the step that reads it.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// An array that a loop reads one row a step, and that cheap elementwise ops, broadcasts, reshapes, transposes, slices
// and pads of the first axis, and concatenations along it make of arrays in memory, is not stored: each step makes its
// row of theirs, which may be one of another number; costly ones, too, of large arrays that nothing reads but what the
// loop reads and one reduction, where the steps are elementwise and reductions alone. What a broadcast widens row by
// row may cost more: it is stored, as the smaller one. A transpose may give the steps another axis of what is in
// memory, if the last axis stays the last and fills lines of the cache: no scan over the second axis of a batch stores
// a copy of it, unless several loops read that. A slice that several loops read is one of what is in memory, in each.
// So a gradient reads the carries before the steps from those after them, and the cotangent of a loss of stacked
// outputs, or of some of them, where it is needed. Of what is no view a step makes four rows at most, as differences of
// neighbours need. Rows are of at least 32 elements, since single numbers are made faster all at once; sizes are known.
// Not of arrays that others may update in place: they would be copied, since the loop reads them later. In regions too.
// Exact; n log n in the eqns that make a loop's operands; memoised.
ProgramRef sink_operands(const ProgramRef& program);

}  // namespace tenon
