// Loops whose outputs are reduced over windows of their steps, as loops of loops.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where the first axis of what a loop stacks is divided into windows, and what is made of it is reduced along each of
// these and not over all, as means of every ten steps are, an outer loop takes the windows, and each of its steps is a
// loop over one. hoist_reductions, which runs behind this, takes the reduction into the inner loop: a window's steps
// are not stored. It undoes what collapse_loops did, where that had such readers. Loops that do several steps a turn
// stay, and so do outputs that others read whole. In regions too. Exact. Linear in the eqns; memoised.
ProgramRef divide_steps(const ProgramRef& program);

}  // namespace tenon
