// Counters: integers that follow from the counts of loops are computed from those, not read from memory.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites the Function. Reads of a table of indices (iota, and what is computed of it alone, be it kept for a reverse
// loop) become its expression at that place, and reads of a carry that each step of a loop adds a constant to become
// its start and as many constants as there are steps; tables and carries that nothing reads any more go. Offsets are
// affine in the counts of loops then, where they were memory's. Run after forward_copies; linear in the expressions.
void recompute_induction_variables(Function& function);

}  // namespace tenon::kernel
