// Stacks of an array that a loop only updates in places, kept as what each step changes of it.
#pragma once

#include <optional>

#include "tenon/ir/program.h"

namespace tenon {

// Where a loop stacks the state of a carry that it only updates (ops/update_chain.h), and all readers of the stack are
// loops that go through it step by step, the rows that each step overwrites are stacked instead, with their places. A
// reader that goes backwards begins with the last state and takes the updates back, so that at each of its steps the
// array is what it was: this is what reverse mode asks. One that goes forwards begins with the first state and does
// them again, from the rows that each step leaves. Stacks of stacks, of nested loops, likewise. T steps of an array of
// n elements then take n + T·row elements, where the stack takes T·n. Values are the same to the bit. Only where the
// rows take less than half of what the array does. Linear in the eqns a stack. Memoised.
ProgramRef delta_stacks(const ProgramRef& program);

// Bytes that it leaves of a stack which a Program without calls makes, if all that reads it goes backwards; of one that
// it leaves as it is, nothing. Where data decide the number of steps, bytes of one step and of the array.
std::optional<double> delta_bytes(const Program& program, Var stack);

}  // namespace tenon
