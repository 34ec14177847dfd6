// Gamma variates, one loop a number, and distributions that are made of them.
#include <algorithm>

#include "tenon/api/custom.h"
#include "tenon/api/loops.h"
#include "tenon/api/random/parameters.h"
#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/vmap.h"
#include "tenon/ops/composites/activations.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/composites/statistics.h"

namespace tenon::random {
namespace {

struct Attempt {
  Array key, square, cube, uniform;
};

// x², (1 + c·x)³ and a uniform number of a normal x that makes the second positive.
Attempt attempt(DType dtype, const Array& c, const Array& key) {
  const Array keys = random::split(key, 3);
  struct Drawn {
    Array key, x, v;
  };
  const auto draw = [&](const Drawn& at) {
    const Array next = random::split(at.key), x = normal(next(1), {}, dtype);
    return Drawn{next(0), x, x * c + 1};
  };
  const Array zero(Scalar::zero(dtype));
  const Drawn found = while_loop([](const Drawn& at) { return at.v <= 0; }, draw, Drawn{keys(1), zero, zero - 1});
  return {keys(0), found.x * found.x, found.v * found.v * found.v, uniform(keys(2), {}, dtype)};
}

// A variate: of alpha + 1 where alpha < 1, and then times a uniform number to the power 1 / alpha.
Array variate(bool logarithm, const Array& alpha, const Array& key) {
  const DType dtype = alpha.dtype();
  const Array enough = alpha >= 1, d = where(enough, alpha, alpha + 1) - 1. / 3, c = 1. / 3 / sqrt(d);
  const Array keys = random::split(key);
  const auto again = [&](const Attempt& at) {
    return (at.uniform >= 1 - 0.0331 * (at.square * at.square)) &
           (log(at.uniform) >= at.square * 0.5 + d * ((1 - at.cube) + log(at.cube)));
  };
  const auto number = [&](int n) { return Array(Scalar(n).convert(dtype)); };
  const Array v = while_loop(
                      again, [&](const Attempt& at) { return attempt(dtype, c, at.key); },
                      Attempt{keys(0), number(0), number(1), number(2)})
                      .cube;
  if (logarithm) {
    const Array log_uniform = -exponential(keys(1), {}, dtype);
    return log(d) + log(v) + where(enough | (log_uniform == 0), 0, log_uniform * (1 / alpha));
  }
  return d * v * where(enough, 1, pow(1 - uniform(keys(1), {}, dtype), 1 / alpha));
}

// Of alpha and keys side by side, with the derivative in alpha of the variate whose probability stays.
Array variates(bool logarithm, const Array& alpha, const Array& keys) {
  const auto draw = [logarithm](Array alpha, Array keys) {
    return vmap([logarithm](Array a, Array key) { return variate(logarithm, a, key); })(alpha, keys);
  };
  const auto rule = [logarithm](Array alpha, Array keys, Array by, Array) {
    const Array made = variates(logarithm, alpha, keys);
    if (!logarithm) return std::pair(made, special::gamma_variate_grad(alpha, made) * by);
    const Array size = max(exp(made), special::least_normal_of(made.dtype()));
    return std::pair(made, special::gamma_variate_grad(alpha, size) / size * by);
  };
  return custom_jvp(draw, rule)(alpha, keys);
}

Array spread_variates(bool logarithm, const Operand& key, const Array& a) {
  const Dim count = a.shape().elements();
  if (count == Dim(0)) return a;
  const DType wide = size_of(a.dtype()) < 4 ? DType::f32 : a.dtype();
  const Array alpha = convert(reshape(a, {count}), wide);
  return convert(reshape(variates(logarithm, alpha, random::split(key, count)), a.shape()), a.dtype());
}

}  // namespace

Array gamma(const Operand& key, const Operand& a, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::gamma");
  return spread_variates(false, key, spread("gamma", shape, dtype, {a})[0]);
}

Array loggamma(const Operand& key, const Operand& a, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::loggamma");
  return spread_variates(true, key, spread("loggamma", shape, dtype, {a})[0]);
}

Array beta(const Operand& key, const Operand& a, const Operand& b, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::beta");
  const Arrays given = spread("beta", shape, dtype, {a, b});
  const Array keys = random::split(key), of_a = spread_variates(true, keys(0), given[0]),
              of_b = spread_variates(true, keys(1), given[1]);
  const Array larger = max(of_a, of_b), size_a = exp(of_a - larger), size_b = exp(of_b - larger);
  return size_a / (size_a + size_b);
}

Array dirichlet(const Operand& key, const Operand& alpha, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::dirichlet");
  const Type type = alpha->type();
  if (!type.is_array() || type.rank() == 0)
    throw ShapeError("random::dirichlet: alpha is " + type.text() + ", which has no axis of outcomes.",
                     "Give a vector of positive numbers, or a batch of them.");
  MaybeShape whole = shape;
  if (whole) whole->push_back(type.shape[type.rank() - 1]);
  return softmax(loggamma(key, alpha, whole, dtype), -1);
}

Array chisquare(const Operand& key, const Operand& df, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::chisquare");
  return exp(spread_variates(true, key, spread("chisquare", shape, dtype, {df})[0] / 2)) * 2;
}

Array f(const Operand& key, const Operand& dfnum, const Operand& dfden, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::f");
  const Arrays given = spread("f", shape, dtype, {dfnum, dfden});
  const Array keys = random::split(key);
  const auto mean = [&](const Array& key, const Array& df) { return chisquare(key, df, {}, dtype) / df; };
  const Array below = mean(keys(0), given[1]);
  return mean(keys(1), given[0]) / below;
}

Array t(const Operand& key, const Operand& df, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::t");
  const Array half = spread("t", shape, dtype, {df})[0] / 2, keys = random::split(key);
  return normal(keys(0), half.shape(), dtype) * sqrt(half / spread_variates(false, keys(1), half));
}

}  // namespace tenon::random
