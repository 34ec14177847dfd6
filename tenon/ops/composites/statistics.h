// Statistics along axes, made of reductions. Axes as in reduce.h.
// Integers become f32 (64-bit ones f64) first; f8, f16 and bf16 are computed in f32 and rounded at the end.
#pragma once

#include "tenon/ops/reductions/reduce.h"

namespace tenon {

// Of no elements: NaN.
Array mean(const Operand& x, const Axes& axes = {});
// The mean of |x - mean|², divided by the count less `ddof` (0: of the whole population; 1: estimated from a sample).
// Real, also of complex x.
Array var(const Operand& x, const Axes& axes = {}, std::int64_t ddof = 0);
// √var. Its derivative is not defined where all elements are equal: NaN.
Array stddev(const Operand& x, const Axes& axes = {}, std::int64_t ddof = 0);
// (x - mean) / √(var + epsilon) along axes.
Array standardize(const Operand& x, const Axes& axes = -1, double epsilon = 1e-5);

// log Σ exp(x), shifted by the largest element (of complex ones the largest real part) so that nothing overflows. Of no
// elements, and where all are -inf: -inf, with a derivative of 0.
Array logsumexp(const Operand& x, const Axes& axes = {});
// exp(x) / Σ exp(x) along axes, and its logarithm. NaN where all elements are -inf.
Array softmax(const Operand& x, const Axes& axes = -1);
Array log_softmax(const Operand& x, const Axes& axes = -1);

// Euclidean: √Σ|x|². Its derivative at 0 is not defined: NaN.
Array norm(const Operand& x, const Axes& axes = {});

}  // namespace tenon
