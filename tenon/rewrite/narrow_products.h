// Products of less: what repeats along an axis of an operand, or is summed along one of the result, is not multiplied.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// sum_b Σ_k x[a,k]·y[k,b] is Σ_k x[a,k]·(sum_b y[k,b]), and a product whose operand was broadcast along an axis needs
// that axis once: it is summed out of the other operand where the product contracts it, and comes back as a broadcast
// of the result where it does not. So the mean of an einsum, and its cotangents, cost what the shorter spelling costs:
// an axis of n less in the product. And Σ_k x[a,k]·y[k,b] is a product where it is spelled as a sum of arrays that were
// broadcast against each other and multiplied, unless it has less than four terms of floats, or what would have to be
// stored for it is more than the result and costs more than the library saves: each element stored alone for this wants
// four multiplications. A kernel matrix that is computed where it is read once or twice stays so. A product that sums
// nothing is multiplied where its elements are read, unless a library reads it. In regions too. Exactness: reassociates
// floating-point sums, as products do (eqns of Numerics::strict stay, and products of f16 and bf16, whose sums would be
// rounded between). Linear in the eqns; memoised.
ProgramRef narrow_products(const ProgramRef& program);

}  // namespace tenon
