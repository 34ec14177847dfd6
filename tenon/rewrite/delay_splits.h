// Reshapes that divide the steps of a loop, behind what reads them.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where the first axis of what a loop stacks is divided into several, as for loops of loops that are one, elementwise
// ops and reductions that read it are taken of the undivided array: a reduction over all of these axes is one over the
// steps, and what else is left is divided at the end. What they read beside it is reshaped alike; what repeats along
// the axes is repeated along the one. In regions too. Exact; eqns of Numerics::strict stay; linear in the eqns;
// memoised.
ProgramRef delay_splits(const ProgramRef& program);

}  // namespace tenon
