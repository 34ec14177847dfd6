// Carries of a loop that are equal at every step, as one.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Carries that begin as the same array, and that each step makes alike of equal ones, are equal: the loop has one of
// them. Two means or sums that reductions of one stack ask for are such. Classes of carries that begin alike are
// divided until each is made alike from step to step (Hopcroft's partition refinement); where a few rounds do not end
// that, the carries stay as they are. Loops with a condition keep theirs. Exact. In regions too. Linear in the eqns;
// memoised.
ProgramRef merge_carries(const ProgramRef& program);

}  // namespace tenon
