// Joining steps: several steps of a loop that is one nest, or one reduction, in one.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites the Function. Where a step of a loop is a nest, with copies of rows that it has written, and each of its
// elements reads of what steps write its own place alone, a turn of the loop takes several steps: what one step hands
// to the next stays in registers, and carries are read and written once a turn. A reduction with such stores is such a
// step, too, whose results no step reads: the turn's has those of all its steps. To the bit, but for sums, whose order
// is open. Linear in the expressions, times the steps of a turn, of which there are few where steps are long.
void join_steps(Function& function, const Target& target = {});

}  // namespace tenon::kernel
