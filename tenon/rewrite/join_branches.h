// What follows a choice of branches, and reads what they give, as part of the branches.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where a cond gives an array that only a cond with the same index reads, or only a loop or a reduction, this one
// moves into the branches of the first, with the cheap ops that only it reads: what a branch of the one gives the same
// branch of the other is not stored, and a loop reads what its branch makes in the steps that read it (sink_operands).
// So the gradient of a loss that is chosen costs what that of the loss costs. A loop moves where a branch makes what
// it reads by an op that is computed where it is read; a reduction does where a branch makes what it reads in the
// steps of a loop, which take it in then. Each is repeated in all branches, of which there are four at most. Sizes are
// known, nothing has effects. In regions too. Run before simplify, after calls are inlined. Exact. Each move: a walk
// over the eqns, 32 at most in a Program; memoised.
ProgramRef join_branches(const ProgramRef& program);

}  // namespace tenon
