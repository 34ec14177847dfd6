// Statistics along axes, made of reductions. Axes as in reduce.h.
// Integers become f32 (64-bit ones f64) first; f8, f16 and bf16 are computed in f32 and rounded at the end.
#pragma once

#include "tenon/ops/reductions/reduce.h"

namespace tenon {

// Σ x / count. Of no elements: NaN.
//   mean(Array{{1.f, 2.f}, {3.f, 6.f}}, 0)   // 2 4
Array mean(const Operand& x, const Axes& axes = {});
// The mean of |x - mean|², divided by the count less `ddof` (0: of the whole population; 1: estimated from a sample).
// Real, also of complex x.
//   var(Array{1.f, 2.f, 3.f, 4.f})   // 1.25
//   var(Array{1.f, 2.f, 3.f, 4.f}, {}, 1)   // 1.666667
Array var(const Operand& x, const Axes& axes = {}, std::int64_t ddof = 0);
// √var. Its derivative is not defined where all elements are equal: NaN.
//   stddev(Array{1.f, 3.f})   // 1
Array stddev(const Operand& x, const Axes& axes = {}, std::int64_t ddof = 0);
// (x - mean) / √(var + epsilon) along axes.
//   standardize(Array{1.f, 3.f}, -1, 0.0)   // -1 1
Array standardize(const Operand& x, const Axes& axes = -1, double epsilon = 1e-5);

// log Σ exp(x), shifted by the largest element (of complex ones the largest real part) so that nothing overflows. Of no
// elements, and where all are -inf: -inf, with a derivative of 0.
//   logsumexp(Array{0.f, 0.f})   // log 2 = 0.6931472
Array logsumexp(const Operand& x, const Axes& axes = {});
// exp(x) / Σ exp(x) along axes, and its logarithm. NaN where all elements are -inf.
//   softmax(Array{0.f, 0.f})   // 0.5 0.5
//   log_softmax(Array{0.f, 0.f})   // -0.6931472 -0.6931472
Array softmax(const Operand& x, const Axes& axes = -1);
Array log_softmax(const Operand& x, const Axes& axes = -1);

// Euclidean: √Σ|x|². Its derivative at 0 is not defined: NaN.
//   norm(Array{{3.f, 4.f}, {6.f, 8.f}}, 1)   // 5 10
Array norm(const Operand& x, const Axes& axes = {});

}  // namespace tenon
