// Statistics along axes, made of reductions. Axes as in reduce.h: all without a list, negative ones from the end.
// Integers become f32 (64-bit ones f64) first; f16 and bf16 are computed in f32 and rounded at the end.
#pragma once

#include "tenon/ops/reduce.h"

namespace tenon {

// Of no elements: NaN.
Array mean(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
// The mean of |x - mean|², divided by the count less `ddof` (0: of the whole population; 1: estimated from a sample).
// Real, also of complex x.
Array var(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false, std::int64_t ddof = 0);
// √var. Its derivative is not defined where all elements are equal: NaN.
Array stddev(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false, std::int64_t ddof = 0);
// (x - mean) / √(var + epsilon) along an axis.
Array standardize(const Operand& x, std::int64_t axis = -1, double epsilon = 1e-5);

// log Σ exp(x), shifted by the largest element so that nothing overflows. Of no elements, and where all are -inf: -inf,
// with a derivative of 0.
Array logsumexp(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
// log(exp(x) + exp(y)), element by element.
Array logaddexp(const Operand& x, const Operand& y);
// exp(x) / Σ exp(x) along an axis, and its logarithm. NaN where all elements are -inf.
Array softmax(const Operand& x, std::int64_t axis = -1);
Array log_softmax(const Operand& x, std::int64_t axis = -1);

// Euclidean: √Σ|x|². Its derivative at 0 is not defined: NaN.
Array norm(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);

}  // namespace tenon
