// Statistics of samples, with SciPy's names: the most frequent number, ranks, the mean's standard error, and a density
// that is estimated of points. In tenon/api/stats.h are distributions.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "tenon/ops/reductions/reduce.h"

namespace tenon::stats {

// The most frequent number of each line along an axis, the least of those that are as frequent, and its count, i32. NaN
// differs from itself. Throws ShapeError where there is no such axis, or no element. Time of a sort.
//   stats::mode(Array{3, 1, 2, 1})   // 1, 2
struct Mode {
  Array value, count;
};
Mode mode(const Operand& x, std::int64_t axis = 0);

// The rank of each number of a line along an axis, from 1, as numbers of a real dtype. Equal numbers have the mean of
// their ranks, the least, the greatest, those by their places, or the rank among numbers that differ. NaN for lines
// that have one. Time of two sorts.
//   stats::rankdata(Array{20.f, 10.f, 20.f})   // 2.5 1 2.5
enum class Ties : std::uint8_t { average, least, greatest, dense, ordinal };
Array rankdata(const Operand& x, std::int64_t axis = -1, Ties method = Ties::average, DType dtype = DType::f32);

// The standard error of the mean along axes: the standard deviation over the root of the count. `without_nan`: of the
// numbers that are not NaN.
//   stats::sem(Array{1.f, 2.f, 4.f})   // 0.8819171
struct SemOptions {
  std::int64_t ddof = 1;
  bool without_nan = false;
};
Array sem(const Operand& x, const Axes& axes = 0, const SemOptions& options = {});

// A density as a sum of normal ones around points (Rosenblatt 1956, Parzen 1962): a tree of arrays, which `init` makes.
// Computed in the dtype of the points, f32 or f64; derivatives in points, weights and bandwidth. Evaluated at m places
// in time and, where that is not compiled, memory of m·n·d.
//   const auto density = stats::GaussianKde::init(Array{1.0, 2.0, 4.0});
//   density.pdf(Array{1.5, 3.0})
enum class Bandwidth : std::uint8_t { scott, silverman };
struct KdeOptions {
  // The deviations of the normal densities over that of the points: by a rule of Scott's (1992) or Silverman's (1986),
  // or a number.
  std::variant<Bandwidth, Array> bandwidth = Bandwidth::scott;
  std::optional<Array> weights = {};  // [n], not negative
};
struct GaussianKde {
  Array neff, dataset, weights, covariance,
      inv_cov;  // [], [d, n], [n] of sum 1, [d, d] of each normal density, inverse

  // Of n points of d numbers, [d, n], or [n] numbers. Throws ShapeError for fewer than two numbers, DTypeError of
  // complex ones. Not finite where the points lie in a space of fewer numbers.
  static GaussianKde init(const Operand& dataset, const KdeOptions& options = {});
  // How many points the weights leave, so to speak, 1 / Σ weight²; and the two rules' bandwidths.
  static Array effective_number(const Operand& weights);
  static Array bandwidth_of(Bandwidth rule, const Operand& neff, std::int64_t d);

  // The density, or its logarithm, [m], at places [d, m]; one place may be [d], and numbers [m].
  Array pdf(const Operand& points) const;
  Array logpdf(const Operand& points) const;
  // ∫ density · normal density of this mean, [d], and covariance, [d, d]; and ∫ density · other density.
  Array integrate_gaussian(const Operand& mean, const Operand& covariance) const;
  Array integrate_kde(const GaussianKde& other) const;
  // The probability of numbers from low to high, of d = 1.
  Array integrate_box_1d(const Operand& low, const Operand& high) const;
  // Places [d, *shape] that are distributed so. `index`: the dtype in which points are chosen.
  Array resample(const Operand& key, const Shape& shape = {}, DType index = DType::i32) const;
};

}  // namespace tenon::stats
