// Loops over the same steps as one.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where a loop reads, step by step, what another stacks in the same steps, or both read the same array step by step,
// one loop does the work of both: a step of the second follows that of the first. It has what the first gives in
// registers or in the caches, and an array that only it reads is stacked no more: the layers of a recurrent network, a
// loss that a second scan sums, filters one behind the other. Both have a given number of steps and the same direction,
// no effects, and the second needs nothing that follows from the first as a whole. Loops that agree row by row run on
// all cores (kernel/passes/row_blocks.h): one that does is not fused with one that does not. In regions too. Exact:
// each step's eqns stay as they are. Not where all that links them is a number a step: long sums of numbers are divided
// among cores one loop at a time (kernel/passes/divide_prefixes.h). Linear in the eqns for each round, which fuses all
// pairs that do not wait for each other: a chain of n loops takes log n rounds. Memoised.
ProgramRef fuse_loops(const ProgramRef& program);

}  // namespace tenon
