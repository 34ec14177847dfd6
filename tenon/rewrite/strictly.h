// Numerics::strict for all of a Program.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// The Program with every eqn strict, in regions and callees too. Linear in the eqns; memoised.
ProgramRef strictly(const ProgramRef& program);
// The Program with the eqns of elements strict, those that it has itself: what others make, sums, loops, calls, stays
// as an op of it makes it that runs by itself. Linear in the eqns; memoised.
ProgramRef as_op_by_op(const ProgramRef& program);

}  // namespace tenon
