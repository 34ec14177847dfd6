// Reductions of what a mask chooses, as reductions under the mask.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// sum(f(compress(x, m))) is sum(where(m, f(x), 0)), and so are other reductions over the chosen rows, with the element
// that they begin with in its place; a product of two such vectors, which is the sum of an elementwise one; and what
// puts rows back where they came from, which is where(m, f(x), 0) itself. So nothing is stored of what only such eqns
// read, gradients included. f is elementwise, of what one mask chooses and of what repeats for each row; where it costs
// more than choosing the rows does, they are chosen. In regions too. A size that is mentioned elsewhere is counted.
// Exactness: what the mask leaves out takes no part, NaN and infinities included; sums may be in another order (eqns of
// Numerics::strict stay, and products of f16 and bf16). Linear in the eqns; memoised.
ProgramRef mask_reductions(const ProgramRef& program);

}  // namespace tenon
