// Medians and quantiles along axes, as NumPy names them. Axes as in ops/reduce.h.
//
// Of real numbers: integers become f32 (64-bit ones f64), complex ones are a DTypeError. Any shape; of no elements, and
// where an element is NaN, the result is NaN. By sorting: n log n. Derivatives in x, weights of the two elements
// between which a quantile lies, and in q where it is not known when the function is traced.
#pragma once

#include <cstdint>

#include "tenon/ir/array.h"
#include "tenon/ops/reductions/reduce.h"

namespace tenon {

// Where between the n elements in order the part q lies, counted from 0. `linear`: at q (n - 1), on the straight line
// between both neighbours; `lower`, `higher`, `nearest` (of halves the even one) and `midpoint` take these, or their
// mean. The others are the nine definitions of R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages,
// 1996: 1 to 9 in this order, `linear` being number 7.
enum class QuantileMethod : std::uint8_t {
  linear,
  lower,
  higher,
  nearest,
  midpoint,
  inverted_cdf,
  averaged_inverted_cdf,
  closest_observation,
  interpolated_inverted_cdf,
  hazen,
  weibull,
  median_unbiased,
  normal_unbiased
};

// Weights say how much elements count: they broadcast to x, or have an axis for each of the axes, ascending. By
// `inverted_cdf` alone, the first element up to which the weights are the part q of all: else an UnsupportedError.
struct QuantileOptions {
  QuantileMethod method = QuantileMethod::linear;
  MaybeArray weights = {};
};

// The values below which parts q of the elements lie, 0 ≤ q ≤ 1: [axes of q…, axes of x that are left…].
//   quantile(Array{1.f, 2.f, 4.f, 9.f}, 0.5f)                          // 3
//   quantile(Array{{0.f}, {1.f}}, Array{0.25f, 0.5f}, 0)               // 0.25, 0.5
//   quantile(Array{1.f, 2.f}, 0.5f, {}, {.method = QuantileMethod::lower})   // 1
Array quantile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
// Of q / 100.
//   percentile(Array{1.f, 2.f, 4.f}, 50.f)   // 2
Array percentile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
// The middle of the elements in order, the mean of both where there are two.
//   median(Array{3.f, 1.f, 2.f})   // 2
Array median(const Operand& x, const Axes& axes = {});

// The same of the elements that are not NaN: NaN where there are none.
//   nanmedian(Array{3.f, NAN, 1.f})   // 2
Array nanquantile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
Array nanpercentile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
Array nanmedian(const Operand& x, const Axes& axes = {});

}  // namespace tenon
