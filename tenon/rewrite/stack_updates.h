// Loops that write the rows of an array one after the other, as loops that stack these rows.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where a loop of a given number of steps does nothing with a carry but overwrite its rows, all of them, one behind
// the other along an axis, each step gives its rows as a stacked output instead: the carry is no more. A constant of
// which each step reads one row, all of them in their order, becomes what the loop runs along, and carries go that
// only count. So passes behind see stacks, rows of different columns do not depend on each other, and reverse mode has
// no cotangent of a whole array that each step changes. Steps may also go from the last row to the first, where the
// loop can be turned round. The numbers of the rows follow from the number of the step, whatever ops compute them;
// choices that they decide are taken. Steps may write most rows of an array that is made for the loop, along its first
// axis, and read up to four rows before the written one, as integrators do that keep their path: these rows are
// carries then, and the array is put together of the rows around and the stack, which is made in its place
// (forward_copies). What would be copied there stays: rows of a part of another array, rows in pieces that lie apart,
// and a carry of a loop around it. So do loops with conditions, checkpoints or lanes of their own. In regions and
// calls too. Exact. Linear in the eqns; of what an index is computed by some hundred ops are looked at. Memoised.
ProgramRef stack_updates(const ProgramRef& program);

}  // namespace tenon
