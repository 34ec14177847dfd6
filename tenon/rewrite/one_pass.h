// Reductions that wait for each other, in one pass over what they read.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// sum(exp(x - max(x))), sum((x - mean(x))^2) and their kin read x once more for each reduction that they wait for: from
// memory, where a row of x does not fit the cache. Here the reduced axis is divided into parts that do. Each part has a
// maximum or a mean of its own, and sums of what lies around that; where all are known, a part's sums are moved to what
// the whole has: exp(x - m) = exp(x - p) exp(p - m), x - m = (x - p) + (p - m) (streams.h does it step by step; of
// parts, Chan, Golub and LeVeque, 1979). So softmax, logsumexp, variance, layer norm and what their gradients sum read
// x once, and once more for a result of its shape.
// What may be summed: terms of exponentials and distances, multiplied with arrays that wait for nothing, with what each
// row has one of, and chosen by masks. In regions too, where sizes are numbers. Exactness: reassociates (reductions of
// Numerics::strict stay). Time: eqns, and for each large reduction the at most 400 eqns that wait for it.
ProgramRef one_pass(const ProgramRef& program);

}  // namespace tenon
