// Updates at places that data choose, on all cores: sums by segments, histograms, gradients of what is read by indices.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites nests that combine updates with what is there (analysis/updates.h), where they are worth a fork and nothing
// around them is divided already, in the way that costs least:
// - by columns: each thread takes all updates of some of the columns;
// - by owners: blocks of rows go to the threads in turn, and each takes the updates of its rows, in their order. It
//   collects their numbers without a branch, a chunk at a time;
// - in parts: each block of the updates goes to a part of its own, which begins with nothing, and the parts
//   are combined in the end. Only where the nest says that updates may be combined in any order; how many parts there
//   are does not depend on the threads that run.
// By columns and by owners each place takes its updates in the nest's order.
// Nests of sizes that vary stay whole. Nests whose outermost loop has rows of its own for each index are left to
// divide_into_blocks.
// Linear in the expressions.
void divide_updates(Function& function, const Target& target = {});

}  // namespace tenon::kernel
