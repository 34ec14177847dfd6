// Loops that write the rows of an array one after the other, as loops that stack these rows.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where a loop of a given number of steps does nothing with a carry but overwrite rows of it, other rows in each step,
// one behind the other along one axis in either direction, each step gives its rows as a stacked output instead. Behind
// the loop stands the stack where it is the whole array, else the first state of the carry with the stack written into
// it. So passes behind see the stack, and reverse mode has no cotangent of an array that each step changes. The numbers
// of the rows follow from the number of the step, whatever ops compute them, and all of them have to be known to lie
// inside. In regions and calls too; loops with conditions, checkpoints or lanes of their own stay. Exact. Linear in the
// eqns; what an index is computed by is looked at as far as some hundred ops. Memoised.
ProgramRef stack_updates(const ProgramRef& program);

}  // namespace tenon
