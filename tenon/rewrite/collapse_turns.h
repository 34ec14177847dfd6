// Loops that take several steps a turn as loops that take one.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where a turn of a loop calls one function several times, each call on what the one before gave and on a row of its
// own, and stacks what they give, as an unrolled scan does, the loop takes one step a turn: reverse mode keeps what it
// keeps of the steps, and the code of a derivative is that of one step. Before differentiation: a loop that is not
// differentiated stays unrolled, which saves reads and writes of its state. What is read and stacked is reshaped, which
// moves nothing. Loops with checkpoints count turns, and stay. In regions too. Exact. Linear in the eqns; memoised.
ProgramRef collapse_turns(const ProgramRef& program);

// The same of loops whose steps are elementwise, on rows of 256 elements and more: code of these takes as many steps a
// turn as suit the processor (kernel/passes/join_steps.h). Before calls are inlined.
ProgramRef collapse_elementwise_turns(const ProgramRef& program);

}  // namespace tenon
