// Random vectors and matrices, and counts of several outcomes.
#include <fmt/format.h>

#include "tenon/api/cumulative.h"
#include "tenon/api/linalg.h"
#include "tenon/api/loops.h"
#include "tenon/api/random/parameters.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::random {
namespace {

Shape first_axes(const Shape& shape, std::size_t left_out) {
  return Shape(std::vector<Dim>(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(left_out)));
}

// f with f·fᵀ the covariance.
Array factor_of(const Array& covariance, Factor factor) {
  if (factor == Factor::cholesky) return cholesky(covariance);
  if (factor == Factor::eigh) {
    const linalg::Eigh of = linalg::eigh(covariance);
    return of.eigenvectors * sqrt(expand_dims(of.eigenvalues, -2));
  }
  const linalg::Svd of = linalg::svd(covariance);
  return of.u * sqrt(expand_dims(of.s, -2));
}

}  // namespace

Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& covariance,
                          const MultivariateNormalOptions& options) {
  const SourceScope place(key.where(), "random::multivariate_normal");
  const Arrays given = in_dtype("multivariate_normal", options.dtype, {mean, covariance});
  const Array &m = given[0], &c = given[1];
  const std::size_t rank = c.rank();
  if (m.rank() < 1 || rank < 2 || decided_equal(m.dim(-1), c.dim(-1)) == false ||
      decided_equal(c.dim(-2), c.dim(-1)) == false)
    throw ShapeError(fmt::format("random::multivariate_normal: the mean is {}, the covariance {}.", m.type().text(),
                                 c.type().text()),
                     "Give vectors of n numbers and matrices of n by n.");
  const Array batches[] = {zeros(first_axes(m.shape(), 1), DType::bool_),
                           zeros(first_axes(c.shape(), 2), DType::bool_)};
  Shape wide = shape_of("multivariate_normal", options.shape, batches);
  wide.push_back(m.dim(-1));
  const Array drawn = expand_dims(normal(key, wide, options.dtype), -1);
  return m + squeeze(matmul(factor_of(c, options.factor), drawn), -1);
}

// Q of normal numbers, with the signs (of complex ones the phases) that make R's diagonal positive.
Array orthogonal(const Operand& key, const Dim& n, const Dim& m, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::orthogonal");
  Shape wide = shape;
  wide.push_back(max(n, m));
  wide.push_back(min(n, m));
  const linalg::Qr of = linalg::qr(normal(key, wide, dtype));
  const Array along = matrices::diagonal(of.r), size = abs(along);
  const Array made = of.q * expand_dims(along / where(size == 0, 1, size), -2);
  const auto rows = decided_less(n, m);
  return (rows ? *rows : n.value() < m.value()) ? move_axis(made, -1, -2) : made;
}

Array generalized_normal(const Operand& key, const Operand& p, const MaybeShape& shape, DType dtype, DType drawn) {
  const SourceScope place(key.where(), "random::generalized_normal");
  require_real("generalized_normal", dtype, {p});
  const Array exponent = p->weak() ? convert(p, dtype) : to_inexact(p);  // a number loses no digits
  const Array power = convert(1 / exponent, dtype).with_weak(false), keys = random::split(key);
  const Array size = gamma(keys(0), power, shape, dtype);
  return rademacher(keys(1), size.shape(), dtype, drawn) * pow(size, power);
}

Array ball(const Operand& key, const Dim& d, const Operand& p, const Shape& shape, DType dtype, DType drawn) {
  const SourceScope place(key.where(), "random::ball");
  require_real("ball", dtype, {p});
  const Array keys = random::split(key);
  const Array points = generalized_normal(keys(0), p, shape.with_axis(shape.rank(), d), dtype, drawn);
  const Array power = convert(p, dtype).with_weak(false), rest = exponential(keys(1), shape, dtype);
  const Array norm = sum(pow(abs(points), power), -1) + rest;
  return points / expand_dims(pow(norm, 1 / power), -1);
}

// What is left of the trials has the next outcome with its part of the probabilities that are left.
Array multinomial(const Operand& key, const Operand& n, const Operand& p, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::multinomial");
  require_real("multinomial", dtype, {n, p});
  const Array given[] = {n, p};
  const Met met = in_one_dtype(given);
  const Array count = to_inexact(met.operands[0]).with_weak(false),
              parts = to_inexact(met.operands[1]).with_weak(false);
  if (parts.rank() == 0)
    throw ShapeError("random::multinomial: p is " + parts.type().text() + ", which has no axis of outcomes.",
                     "Give a vector of probabilities, or a batch of them.");
  const Shape wide = shape ? *shape : parts.shape();
  if (wide.rank() == 0)
    throw ShapeError("random::multinomial: the shape [] has no axis of outcomes.", "Its last axis is that of p.");
  const Array trials = broadcast_to(count, first_axes(wide, 1));
  const Array along = move_axis(broadcast_to(parts, wide), -1, 0), rest = cumsum(along, 0, {.reverse = true});
  const Array of_rest = clamp(along / where(rest == 0, 1, rest), 0, 1);
  const auto draw = [](const Array& left, const std::pair<Array, Array>& outcome) {
    const Array counted = binomial(outcome.second, left, outcome.first, left.shape(), left.dtype());
    return std::pair(left - counted, counted);
  };
  const Array counts = scan(draw, trials, std::pair(of_rest, random::split(key, along.shape()[0]))).second;
  return convert(move_axis(counts, 0, -1), dtype).with_weak(false);
}

}  // namespace tenon::random
