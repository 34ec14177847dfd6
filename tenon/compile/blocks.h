// Blocks: statements that agree row by row run together, a block of rows at a time: in cache, and on all cores.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon {

struct BlockLimits {
  int threads = 1;
  double worth_forking = 20'000;         // ns of work: a fork and a join cost 0.5 to 2 µs, a sleeping worker 50
  std::int64_t cache_bytes = 24 * 1024;  // what a block of rows may touch: half of a first-level cache
  std::int64_t narrowest = 64;           // bytes of a row's part that a thread is given: the width of a vector
  std::int64_t shortest_run = 2048;      // bytes: shorter pieces of a stacked array defeat prefetching
};
// Of this process; with TENON_BLOCKS=small in the environment the smallest, so that small arrays test everything.
BlockLimits block_limits();

// Rewrites the Function. Statements that follow each other join where each row of what they write is read by the same
// row alone: a softmax's maximum, exponentials, sum and quotient; a loop over time whose steps leave each row to
// itself. What only a group touches shrinks to its blocks. Large groups are divided among threads. Sums over the rows
// themselves become a part for each block, and a sum of the parts; results do not depend on how many threads run.
// Time: statements × rows tried, each a walk over the statement's expressions.
void divide_into_blocks(kernel::Function& function, const BlockLimits& limits);

}  // namespace tenon
