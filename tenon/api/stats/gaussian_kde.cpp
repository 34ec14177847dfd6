// A density as a sum of normal ones: what is asked of it in coordinates in which each has the covariance 1.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tenon/api/linalg.h"
#include "tenon/api/random.h"
#include "tenon/api/samples.h"
#include "tenon/api/special.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::stats {
namespace {

const double log_root_of_2pi = 0.5 * std::log(2 * std::numbers::pi);

Array real_points(std::string_view name, const Array& x) {
  if (is_complex(x.dtype()))
    throw DTypeError(fmt::format("{}: {} is complex.", name, x.type().text()), "Give its parts, as two numbers.");
  return widened(to_inexact(x)).with_weak(false);
}

// Places [d, m] of a density of d numbers.
Array places_in(std::string_view name, const Array& given, const Dim& d) {
  Array points = real_points(name, given);
  if (points.rank() < 2) points = reshape(points, {1, points.shape().elements()});
  if (points.rank() == 2 && decided_equal(points.shape()[0], d) != false) return points;
  if (points.rank() == 2 && points.shape()[0] == Dim(1) && decided_equal(points.shape()[1], d) == true)
    return reshape(points, {d, 1});
  throw ShapeError(fmt::format("{}: places {} of a density of {} numbers.", name, given.type().text(), d.text()),
                   fmt::format("Give [{}, m].", d.text()));
}

struct Whitened {
  Array points;      // [n, d]
  Array root;        // [d, d], lower
  Array log_volume;  // of what the root multiplies volumes by
};

Whitened whitened(const Array& precision, const Array& points) {
  const Array root = cholesky(precision);
  return {matmul(transpose(points), root), root, sum(log(matrices::diagonal(root)))};
}

// log of each normal density around the points, at each place: [m, n].
Array log_kernels(std::string_view name, const GaussianKde& of, const Operand& given) {
  const Array places = places_in(name, given, of.dataset.shape()[0]);
  const Whitened there = whitened(of.inv_cov, of.dataset);
  const Array at = matmul(transpose(places), there.root);
  const Array differences = expand_dims(at, 1) - expand_dims(there.points, 0);
  const double d = static_cast<double>(of.dataset.size(0));
  return there.log_volume - d * log_root_of_2pi - 0.5 * sum(square(differences), -1);
}

// Σ weights · normal density of this covariance between the points and each of the means [d, m]: [m].
Array convolved(const GaussianKde& of, const Array& covariance, const Array& means) {
  const Array root = cholesky(covariance);
  const auto through = [&](const Array& x) { return triangular_solve(root, x, {.left_side = true, .lower = true}); };
  const Array differences = expand_dims(through(means), 2) - expand_dims(through(of.dataset), 1);
  const double d = static_cast<double>(of.dataset.size(0));
  const Array log_norm = -d * log_root_of_2pi - sum(log(matrices::diagonal(root)));
  return matmul(exp(log_norm - 0.5 * sum(square(differences), 0)), of.weights);
}

}  // namespace

Array GaussianKde::effective_number(const Operand& weights) { return 1 / sum(square(weights)); }

Array GaussianKde::bandwidth_of(Bandwidth rule, const Operand& neff, std::int64_t d) {
  const auto n = static_cast<double>(d);
  return pow(rule == Bandwidth::scott ? neff.array() : neff * (n + 2) / 4.0, -1.0 / (n + 4));
}

GaussianKde GaussianKde::init(const Operand& dataset, const KdeOptions& options) {
  constexpr std::string_view name = "stats::GaussianKde";
  const SourceScope place(dataset.where(), name);
  Array points = real_points(name, dataset);
  if (points.rank() == 0 || points.rank() > 2 || decided_less(points.shape().elements(), Dim(2)) == true)
    throw ShapeError(fmt::format("{}: the points are {}.", name, dataset->type().text()),
                     "Give [d, n], two numbers or more.");
  if (points.rank() == 1) points = expand_dims(points, 0);
  const Dim n = points.shape()[1];
  Array weights = full({n}, convert(1.0, points.dtype())) / convert(size_as_array(n), points.dtype());
  if (options.weights) {
    const Array given[] = {points, real_points(name, *options.weights)};
    const Met met = in_one_dtype(given);
    points = met.operands[0], weights = met.operands[1] / sum(met.operands[1]);
    if (weights.rank() != 1 || decided_equal(weights.shape()[0], n) == false)
      throw ShapeError(fmt::format("{}: weights {} of {} points.", name, options.weights->type().text(), n.text()),
                       "Give a vector with one for each.");
  }
  const Array neff = effective_number(weights);
  const auto* rule = std::get_if<Bandwidth>(&options.bandwidth);
  const Array factor = rule != nullptr ? bandwidth_of(*rule, neff, points.size(0))
                                       : convert(std::get<Array>(options.bandwidth), points.dtype()).with_weak(false);
  // Of weights the unbiased covariance: over 1 - Σ weight².
  const Array centred = points - sum(points * weights, Axes(-1).keepdims());
  const Array of_points = matmul(centred * weights, transpose(centred)) / (1 - sum(square(weights)));
  return {neff, points, weights, of_points * square(factor), inv(of_points) / square(factor)};
}

Array GaussianKde::pdf(const Operand& points) const {
  const SourceScope place(points.where(), "stats::GaussianKde::pdf");
  return matmul(exp(log_kernels("stats::GaussianKde::pdf", *this, points)), weights);
}

Array GaussianKde::logpdf(const Operand& points) const {
  const SourceScope place(points.where(), "stats::GaussianKde::logpdf");
  return logsumexp(log_kernels("stats::GaussianKde::logpdf", *this, points) + log(weights), -1);
}

Array GaussianKde::integrate_gaussian(const Operand& mean, const Operand& given) const {
  constexpr std::string_view name = "stats::GaussianKde::integrate_gaussian";
  const SourceScope place(mean.where(), name);
  const Dim d = dataset.shape()[0];
  const Array cov = real_points(name, given);
  if (decided_equal(mean->shape().elements(), d) == false || decided_equal(cov.shape().elements(), d * d) == false)
    throw ShapeError(fmt::format("{}: a mean {} and a covariance {} of {} numbers.", name, mean->type().text(),
                                 given->type().text(), d.text()),
                     fmt::format("Give [{0}] and [{0}, {0}].", d.text()));
  return reshape(convolved(*this, covariance + reshape(cov, {d, d}), reshape(real_points(name, mean), {d, 1})),
                 Shape{});
}

Array GaussianKde::integrate_kde(const GaussianKde& other) const {
  constexpr std::string_view name = "stats::GaussianKde::integrate_kde";
  if (decided_equal(dataset.shape()[0], other.dataset.shape()[0]) == false)
    throw ShapeError(fmt::format("{}: densities of {} and of {} numbers.", name, dataset.shape()[0].text(),
                                 other.dataset.shape()[0].text()),
                     "Both are of as many.");
  return sum(convolved(*this, covariance + other.covariance, other.dataset) * other.weights);
}

Array GaussianKde::integrate_box_1d(const Operand& low, const Operand& high) const {
  constexpr std::string_view name = "stats::GaussianKde::integrate_box_1d";
  const SourceScope place(low.where(), name);
  if (decided_equal(dataset.shape()[0], Dim(1)) == false || low->rank() != 0 || high->rank() != 0)
    throw ShapeError(fmt::format("{}: from {} to {} of a density of {} numbers.", name, low->type().text(),
                                 high->type().text(), dataset.shape()[0].text()),
                     "Of densities of one number, between two numbers.");
  const Array deviation = sqrt(reshape(covariance, Shape{})), points = reshape(dataset, {dataset.shape()[1]});
  const auto below = [&](const Array& limit) { return special::ndtr((limit - points) / deviation); };
  return sum(weights * (below(high) - below(low)));
}

Array GaussianKde::resample(const Operand& key, const Shape& shape, DType index) const {
  const SourceScope place(key.where(), "stats::GaussianKde::resample");
  const Array keys = random::split(key);
  const Array at = random::choice(keys(0), dataset.shape()[1], shape, {.p = weights, .index = index});
  const Array around = random::multivariate_normal(keys(1), zeros({dataset.shape()[0]}, dataset.dtype()), covariance,
                                                   {.shape = shape, .dtype = dataset.dtype()});
  return take(dataset, at, 1) + move_axis(around, -1, 0);
}

}  // namespace tenon::stats
