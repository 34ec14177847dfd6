// solve(a, b) in two parts, for loops whose steps solve with one matrix.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// What depends on the matrices alone: {L below the diagonal and U, the order of rows, the order back}.
Arrays factors_to_solve(const Array& a);
// The rest, in the params of the op `solve`: b has the batch of the matrices. n² operations a column, not n³ a matrix.
Array solve_by_factors(const Params& params, const Arrays& factors, const Array& b);

}  // namespace tenon
