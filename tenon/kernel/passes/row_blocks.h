// Blocks: statements that agree row by row run together, a block of rows at a time: in cache, and on all cores.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites the Function. Statements that follow each other join where each row of what they write is read by the same
// row alone: a softmax's maximum, exponentials, sum and quotient; a loop over time whose steps leave each row to
// itself. What only a group touches shrinks to its blocks. Large groups are divided among threads. Sums over the rows
// themselves become a part for each block, and a sum of the parts; results do not depend on how many threads run.
// Time: statements × rows tried, each a walk over the statement's expressions.
void divide_into_blocks(Function& function, const Target& target);

}  // namespace tenon::kernel
