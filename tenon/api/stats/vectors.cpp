// Distributions of vectors: Dirichlet's, the multinomial and the normal one; and those of numbers by their names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/stats.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::stats {
namespace {

// Real operands of one dtype, to compute with: f32 in place of 16 bits. `dtype` is that of the result.
struct RealOperands {
  RealOperands(const char* name, std::initializer_list<Operand> operands) {
    arrays = special::real_operands(name, operands).operands;
    dtype = arrays[0].dtype();
    for (Array& x : arrays) x = widened(x);
  }
  Arrays arrays;
  DType dtype;
};

}  // namespace

Array Distribution::of(Quantity quantity, std::initializer_list<Operand> operands) const {
  return (*(*functions_)[static_cast<std::size_t>(quantity)])(operands);
}

Array Dirichlet::logpdf(const Operand& x, const Operand& alpha) const {
  const SourceScope place(x.where(), "dirichlet.logpdf");
  const RealOperands given("dirichlet.logpdf", {x, alpha});
  Array point = given.arrays[0];
  const Array& a = given.arrays[1];
  const auto wrong = [&] {
    throw ShapeError(
        fmt::format("dirichlet.logpdf: {} beside {}.", x.array().type().text(), alpha.array().type().text()),
        "alpha is a vector, and x has as many numbers along its first axis, or one less.");
  };
  if (a.rank() != 1 || point.rank() == 0) wrong();
  const Array last = 1.0 - sum(point, 0);
  if (point.shape()[0] == a.shape()[0] - 1) point = concatenate({point, expand_dims(last, 0)}, 0);
  if (point.shape()[0] != a.shape()[0]) wrong();
  std::vector<Dim> column(static_cast<std::size_t>(point.rank()), Dim(1));
  column[0] = a.shape()[0];
  const Array norm = sum(special::lgamma(a)) - special::lgamma(sum(a));
  const Array made = sum(special::xlogy(reshape(a, Shape(column)) - 1.0, point), 0) - norm;
  // Beside SciPy's 1e-10, in 32 bits as far as a sum of them is exact.
  const double tolerance = point.dtype() == DType::f64 ? 1e-9 : 1e-5;
  const Array off = abs(sum(point, 0) - 1.0) > tolerance, inside = !(any(point < 0.0, 0) | off);
  return convert(where(any(a <= 0.0), special::nan, where(inside, made, -special::infinity)), given.dtype);
}
Array Dirichlet::pdf(const Operand& x, const Operand& alpha) const { return exp(logpdf(x, alpha)); }

Array Multinomial::logpmf(const Operand& x, const Operand& n, const Operand& p) const {
  const SourceScope place(x.where(), "multinomial.logpmf");
  const RealOperands given("multinomial.logpmf", {x, n, p});
  const Array &count = given.arrays[0], &trials = given.arrays[1], &chance = given.arrays[2];
  if (count.rank() == 0 || chance.rank() == 0)
    throw ShapeError(fmt::format("multinomial.logpmf: {} beside {}.", x.array().type().text(), p.array().type().text()),
                     "x and p have the outcomes along their last axis.");
  const Array terms = special::xlogy(count, chance) - special::lgamma(count + 1.0);
  const Array whole = count + zeros_like(terms), off = any((whole < 0.0) | (floor(whole) != whole), -1);
  const Array made = special::lgamma(trials + 1.0) + sum(terms, -1);
  return convert(where((sum(whole, -1) == trials) & !off, made, -special::infinity), given.dtype);
}
Array Multinomial::pmf(const Operand& x, const Operand& n, const Operand& p) const { return exp(logpmf(x, n, p)); }

Array MultivariateNormal::logpdf(const Operand& x, const Operand& mean, const Operand& cov) const {
  const SourceScope place(x.where(), "multivariate_normal.logpdf");
  const RealOperands given("multivariate_normal.logpdf", {x, mean, cov});
  const Array &point = given.arrays[0], &center = given.arrays[1], &spread = given.arrays[2];
  const double log_two_pi = std::log(2 * std::numbers::pi);
  const Array away = point - center;
  if (center.rank() == 0) return convert(-0.5 * (away * away / spread + log(spread) + log_two_pi), given.dtype);
  const Dim size = center.shape()[center.rank() - 1];
  const Array n = convert(size_as_array(size), away.dtype());
  if (spread.rank() == 0)
    return convert(-0.5 * (sum(away * away, -1) / spread + n * (log(spread) + log_two_pi)), given.dtype);
  if (spread.rank() < 2 || spread.shape()[spread.rank() - 1] != size || spread.shape()[spread.rank() - 2] != size)
    throw ShapeError(
        fmt::format("multivariate_normal.logpdf: {} beside {}.", mean.array().type().text(), cov.array().type().text()),
        "cov is a number, or has a square matrix of the mean's last axis in its last two.");
  const Array factor = cholesky(spread);
  const Array half_log = sum(log(sum(factor * eye(size, factor.dtype()), -1)), -1);
  // The factor's batch and the vectors' meet.
  const Array columns = expand_dims(away, -1);
  const Shape batch = broadcast_shapes("multivariate_normal.logpdf", Arrays{sum(away, -1), half_log});
  std::vector<Dim> of_factor(batch.begin(), batch.end()), of_column = of_factor;
  of_factor.insert(of_factor.end(), {size, size}), of_column.insert(of_column.end(), {size, Dim(1)});
  const Array solved = triangular_solve(broadcast_to(factor, Shape(of_factor)), broadcast_to(columns, Shape(of_column)),
                                        {.left_side = true, .lower = true});
  return convert(-0.5 * sum(solved * solved, {-2, -1}) - half_log - 0.5 * n * log_two_pi, given.dtype);
}
Array MultivariateNormal::pdf(const Operand& x, const Operand& mean, const Operand& cov) const {
  return exp(logpdf(x, mean, cov));
}

Array distribution(std::string_view name, std::string_view quantity, std::span<const Operand> operands) {
  static constexpr std::pair<std::string_view, const Distribution*> distributions[]{{"norm", &norm},
                                                                                    {"expon", &expon},
                                                                                    {"cauchy", &cauchy},
                                                                                    {"laplace", &laplace},
                                                                                    {"logistic", &logistic},
                                                                                    {"uniform", &uniform},
                                                                                    {"gumbel_l", &gumbel_l},
                                                                                    {"gumbel_r", &gumbel_r},
                                                                                    {"pareto", &pareto},
                                                                                    {"gamma", &gamma},
                                                                                    {"chi2", &chi2},
                                                                                    {"t", &t},
                                                                                    {"gennorm", &gennorm},
                                                                                    {"beta", &beta},
                                                                                    {"truncnorm", &truncnorm},
                                                                                    {"vonmises", &vonmises},
                                                                                    {"wrapcauchy", &wrapcauchy},
                                                                                    {"bernoulli", &bernoulli},
                                                                                    {"poisson", &poisson},
                                                                                    {"geom", &geom},
                                                                                    {"binom", &binom},
                                                                                    {"nbinom", &nbinom},
                                                                                    {"betabinom", &betabinom}};
  static constexpr std::pair<std::string_view, Quantity> of_name[]{
      {"logpdf", Quantity::logpdf}, {"pdf", Quantity::pdf},        {"logpmf", Quantity::logpdf},
      {"pmf", Quantity::pdf},       {"cdf", Quantity::cdf},        {"logcdf", Quantity::logcdf},
      {"sf", Quantity::sf},         {"logsf", Quantity::logsf},    {"ppf", Quantity::ppf},
      {"isf", Quantity::isf},       {"entropy", Quantity::entropy}};
  const auto* const found =
      std::ranges::find(distributions, name, &std::pair<std::string_view, const Distribution*>::first);
  const auto* const wanted = std::ranges::find(of_name, quantity, &std::pair<std::string_view, Quantity>::first);
  const special::SpecialFunction* f = nullptr;
  if (found != std::end(distributions) && wanted != std::end(of_name))
    f = (*found->second->functions_)[static_cast<std::size_t>(wanted->second)];
  if (f == nullptr) throw std::out_of_range(fmt::format("There is no {}.{}.", name, quantity));
  return f->results(operands)[0];
}

}  // namespace tenon::stats
