// Numbers that a loop reads one a step, counted instead of being stored.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where a loop of a known number of steps reads an array of numbers that elementwise ops make of iota and of single
// numbers, as fori_loop does, its body makes each of them of a counter, one carry more. Native code needs no such array
// anyway: this is for the evaluator, which would hold a number a step. In regions and calls too; linear in the eqns;
// memoised.
ProgramRef count_steps(const ProgramRef& program);

}  // namespace tenon
