// Rows that are read of what a loop stacks, as sums of choices, which the loop takes in.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where one step of a stack is read for each of the other axes' places, as the last valid step of each sequence is, by
// indices that the loop does not make, at most four times, it is the sum over all steps of what is chosen:
// hoist_reductions, which runs behind this, takes it into the loop, and the stack is not stored. Only where all that
// reads the stack is such, or reduces its steps: else it is stored anyway. It costs a step a choice an element. Exact
// but for -0, which becomes 0. In regions too. Linear in the eqns; memoised.
ProgramRef choose_gathered(const ProgramRef& program);

}  // namespace tenon
