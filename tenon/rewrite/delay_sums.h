// Sums over the steps of a loop, taken after it.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A carry that a loop only adds to, as the gradient of a weight does, stops its steps from running row by row and meets
// memory at each of them. Where what is added is a product, its operands are stacked instead (inputs of the loop are
// there already), and one product sums over steps and all; where it is a sum, its operand is added up and the sum taken
// after the loop, and so are products, maxima, minima, all and any; where it is a broadcast, what is broadcast is added
// up. Σ_t T(x_t) = T(Σ_t x_t) moves transposes and reshapes out as well. Reassociates floating-point sums, as
// reductions do. Stacks no more elements a step than the carries it removes have. Sums of few long rows stay, and so do
// products of many matrices, each of which adds to its own. Linear in the eqns; nested loops first. Memoised.
ProgramRef delay_sums(const ProgramRef& program);

}  // namespace tenon
