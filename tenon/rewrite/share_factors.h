// Factors of matrices that are solved with more than once, made once.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// solve(a, b) factors a, n³ operations, and solves, n² a column. Where several solve with one matrix, as a value and
// its gradient do, or each step of a loop does with a matrix that is the same in all of them, the factors are an eqn of
// their own, which is shared, or which hoist_invariants takes before the loop. In regions too. Exactness: reassociates
// (eqns of Numerics::strict stay). Linear in the eqns; memoised.
ProgramRef share_factors(const ProgramRef& program);

}  // namespace tenon
