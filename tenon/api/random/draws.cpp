// Distributions that are formulas of uniform and normal numbers.
#include <cmath>
#include <numbers>

#include "tenon/api/random/parameters.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::random {

Array laplace(const Operand& key, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::laplace");
  const Array u = uniform(key, shape, dtype, -1.0 + special::epsilon_of(dtype) / 2, 1.0);
  return sign(u) * log1p(-abs(u));
}

Array cauchy(const Operand& key, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::cauchy");
  return tan(std::numbers::pi * (uniform(key, shape, dtype, special::epsilon_of(dtype), 1.0) - 0.5));
}

Array logistic(const Operand& key, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::logistic");
  const Array u = uniform(key, shape, dtype, special::least_normal_of(dtype), 1.0);
  return log(u / (1 - u));
}

Array pareto(const Operand& key, const Operand& b, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::pareto");
  const Arrays given = in_dtype("pareto", dtype, {b});
  return exp(exponential(key, shape_of("pareto", shape, given), dtype) / given[0]);
}

Array rayleigh(const Operand& key, const Operand& scale, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::rayleigh");
  const Arrays given = in_dtype("rayleigh", dtype, {scale});
  return given[0] * sqrt(-2 * log(uniform(key, shape_of("rayleigh", shape, given), dtype)));
}

Array maxwell(const Operand& key, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::maxwell");
  return sqrt(sum(square(normal(key, shape.with_axis(shape.rank(), 3), dtype)), -1));
}

Array double_sided_maxwell(const Operand& key, const Operand& loc, const Operand& scale, const MaybeShape& shape,
                           DType dtype) {
  const SourceScope place(key.where(), "random::double_sided_maxwell");
  const Arrays given = in_dtype("double_sided_maxwell", dtype, {loc, scale});
  const Shape wide = shape_of("double_sided_maxwell", shape, given);
  const Array keys = random::split(key);
  return rademacher(keys(1), wide, dtype) * maxwell(keys(0), wide, dtype) * given[1] + given[0];
}

Array weibull_min(const Operand& key, const Operand& scale, const Operand& concentration, const MaybeShape& shape,
                  DType dtype) {
  const SourceScope place(key.where(), "random::weibull_min");
  const Arrays given = in_dtype("weibull_min", dtype, {scale, concentration});
  const Array u = uniform(key, shape ? *shape : shape_of("weibull_min", shape, given), dtype);
  return pow(-log1p(-u), 1.0 / given[1]) * given[0];
}

Array lognormal(const Operand& key, const Operand& sigma, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::lognormal");
  const Arrays given = in_dtype("lognormal", dtype, {sigma});
  return exp(normal(key, shape_of("lognormal", shape, given), dtype) * given[0]);
}

Array wald(const Operand& key, const Operand& mean, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::wald");
  const Arrays given = in_dtype("wald", dtype, {mean});
  const Shape wide = shape_of("wald", shape, given);
  const Array m = given[0], keys = random::split(key);
  const Array v = normal(keys(0), wide, dtype), z = uniform(keys(1), wide, dtype), y = v * v;
  const Array x = m + square(m) * y / 2 - m / 2 * sqrt(4 * m * y + square(m) * square(y));
  return where(z <= m / (m + x), x, square(m) / x);
}

Array triangular(const Operand& key, const Operand& left, const Operand& mode, const Operand& right,
                 const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::triangular");
  const Arrays given = in_dtype("triangular", dtype, {left, mode, right});
  const Array &l = given[0], &m = given[1], &r = given[2];
  const Array u = uniform(key, shape_of("triangular", shape, given), dtype), part = (m - l) / (r - l);
  return where(u < part, l + sqrt(u * (r - l) * (m - l)), r - sqrt((1 - u) * (r - l) * (r - m)));
}

Array truncated_normal(const Operand& key, const Operand& lower, const Operand& upper, const MaybeShape& shape,
                       DType dtype) {
  const SourceScope place(key.where(), "random::truncated_normal");
  const Arrays given = in_dtype("truncated_normal", dtype, {lower, upper});
  const Array root(Scalar(std::numbers::sqrt2).convert(dtype));
  const Array u =
      uniform(key, shape_of("truncated_normal", shape, given), dtype, erf(given[0] / root), erf(given[1] / root));
  // The next number, or one that is as good: the interval is open.
  const auto toward = [&](const Array& x, int direction) {
    return x + direction * max(abs(x) * special::epsilon_of(dtype), special::least_normal_of(dtype));
  };
  return clamp(root * erf_inv(u), toward(given[0], 1), toward(given[1], -1));
}

Array rademacher(const Operand& key, const Shape& shape, DType dtype, DType drawn) {
  const SourceScope place(key.where(), "random::rademacher");
  return convert(2 * convert(uniform(key, shape, drawn) < 0.5, DType::i32) - 1, dtype).with_weak(false);
}

Array geometric(const Operand& key, const Operand& p, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::geometric");
  const Array part = to_inexact(p).with_weak(false);
  const Array u = uniform(key, shape_of("geometric", shape, Arrays{part}), part.dtype());
  return convert(floor(log(where(u == 0, 1, u)) / log1p(-part)) + 1, dtype).with_weak(false);
}

}  // namespace tenon::random
