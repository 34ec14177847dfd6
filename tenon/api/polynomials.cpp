#include "tenon/api/polynomials.h"

#include <fmt/format.h>

#include <complex>
#include <limits>
#include <tuple>
#include <utility>

#include "tenon/api/linalg.h"
#include "tenon/api/loops.h"
#include "tenon/api/signal.h"
#include "tenon/api/special/function.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// A vector of coefficients; a number is one.
Array coefficients_of(std::string_view name, const Array& p) {
  if (p.rank() == 0) return reshape(p, {1});
  if (p.rank() != 1)
    throw ShapeError(fmt::format("{}: Input must be a rank-1 array: {}.", name, p.type().text()),
                     "Coefficients are a vector; of several polynomials each is one, by vmap.");
  return p;
}
Array from_to(const Array& p, const Dim& from, const Dim& to) { return slice_in_dim(p, from, to, 0); }
Array coefficient(const Array& p, std::int64_t i) { return squeeze(from_to(p, i, i + 1), 0); }

// Both in one dtype, of one size: with zeros in front of the shorter one.
Met of_one_order(std::string_view name, const Array& p, const Array& q) {
  Met met = in_one_dtype(Arrays{coefficients_of(name, p), coefficients_of(name, q)});
  const Dim n = max(met.operands[0].shape()[0], met.operands[1].shape()[0]);
  for (Array& x : met.operands) {
    const Dim more = n - x.shape()[0];
    if (more.try_value() != 0) x = concatenate({zeros({more}, x.dtype()), x}, 0);
  }
  return met;
}

// The exponents n, n - 1, …, 1.
Array exponents_down_to_1(const Dim& n, DType dtype) { return size_as_array(n, dtype) - iota(dtype, {n}, 0); }

std::int64_t checked_order(std::string_view name, std::int64_t m) {
  if (m < 0)
    throw ShapeError(fmt::format("{}: Order of a derivative or an integral must be positive or zero, not {}.", name, m),
                     "polyint() undoes polyder().");
  return m;
}

// Of a polynomial whose first coefficient is not 0.
Array roots_of_leading(const Array& p) { return linalg::eigvals(companion(p)); }

}  // namespace

Array polyval(const Operand& p, const Operand& x) {
  constexpr std::string_view name = "polyval";
  const SourceScope place(p.where(), name);
  const Met met = in_one_dtype(Arrays{coefficients_of(name, p), x});
  const Array &c = met.operands[0], &at = met.operands[1];
  const Array none = zeros(at.shape(), at.dtype());
  const Dim n = c.shape()[0];
  if (n.try_value().value_or(100) <= 64) {
    Array made = none;
    for (std::int64_t i = 0; i < n.value(); ++i) made = made * at + coefficient(c, i);
    return made;
  }
  const auto step = [&](const Array& made, const Array& next) { return std::pair(made * at + next, std::tuple<>()); };
  return scan(step, none, c).first;
}

Array polyadd(const Operand& p, const Operand& q) {
  const SourceScope place(p.where(), "polyadd");
  const Met met = of_one_order("polyadd", p, q);
  return met.operands[0] + met.operands[1];
}
Array polysub(const Operand& p, const Operand& q) {
  const SourceScope place(p.where(), "polysub");
  const Met met = of_one_order("polysub", p, q);
  return met.operands[0] - met.operands[1];
}
Array polymul(const Operand& p, const Operand& q) {
  const SourceScope place(p.where(), "polymul");
  const Met met = in_one_dtype(Arrays{coefficients_of("polymul", p), coefficients_of("polymul", q)});
  return signal::convolve(to_inexact(met.operands[0]), to_inexact(met.operands[1]));
}

PolynomialDivision polydiv(const Operand& given_u, const Operand& given_v) {
  constexpr std::string_view name = "polydiv";
  const SourceScope place(given_u.where(), name);
  const Met met = in_one_dtype(Arrays{coefficients_of(name, given_u), coefficients_of(name, given_v)});
  const Array u = to_inexact(met.operands[0]), v = to_inexact(met.operands[1]);
  const std::int64_t n = v.size(0), all = u.size(0);
  if (n == 0) throw ShapeError(fmt::format("{}: by no coefficients.", name), "Give one at least.");
  Arrays quotient;
  Array rest = u;
  for (std::int64_t k = 0; k + n <= all; ++k) {
    const Array here = from_to(rest, k, k + 1), factor = here / from_to(v, 0, 1);
    quotient.push_back(factor);
    // Exactly 0 where the factor takes the first one away, which none does where v begins with 0.
    const Array first = where(is_finite(factor), here, factor * from_to(v, 0, 1));
    const Array taken = concatenate({first, factor * from_to(v, 1, n)}, 0);
    rest = concatenate({from_to(rest, 0, k), from_to(rest, k, k + n) - taken, from_to(rest, k + n, all)}, 0);
  }
  return {quotient.empty() ? zeros({1}, u.dtype()) : concatenate(quotient, 0), rest};
}

Array polyder(const Operand& given, std::int64_t m) {
  constexpr std::string_view name = "polyder";
  const SourceScope place(given.where(), name);
  Array p = coefficients_of(name, to_inexact(given));
  checked_order(name, m);
  for (std::int64_t i = 0; i < m; ++i) {
    const Dim n = p.shape()[0];
    if (n.try_value() == 0) break;
    p = from_to(p, 0, n - 1) * exponents_down_to_1(n - 1, p.dtype());
  }
  return p;
}
Array polyint(const Operand& given, std::int64_t m, const MaybeArray& constants) {
  constexpr std::string_view name = "polyint";
  const SourceScope place(given.where(), name);
  Array p = coefficients_of(name, to_inexact(given));
  checked_order(name, m);
  const Array all = broadcast_to(constants ? convert(*constants, p.dtype()) : zeros({}, p.dtype()), {m});
  for (std::int64_t i = 0; i < m; ++i)
    p = concatenate({p / exponents_down_to_1(p.shape()[0], p.dtype()), from_to(all, i, i + 1)}, 0);
  return p;
}

Array poly(const Operand& given) {
  constexpr std::string_view name = "poly";
  const SourceScope place(given.where(), name);
  const bool square = given->rank() == 2 && decided_equal(given->shape()[0], given->shape()[1]).value_or(false) &&
                      given->shape()[0].try_value() != 0;
  const Array x = to_inexact(square ? linalg::eigvals(given) : given.array());
  if (x.rank() > 1)
    throw ShapeError(
        fmt::format("{}: input must be a vector or a square matrix that is not empty, not {}.", name, x.type().text()),
        "Give zeros, or a matrix whose eigenvalues they are.");
  const Array zeros_of = coefficients_of(name, x);
  const std::int64_t n = zeros_of.size(0);
  const Array one = ones({1}, x.dtype());
  if (n == 0) return reshape(one, {});
  Array made = one;
  for (std::int64_t i = 0; i < n; ++i)
    made = signal::convolve(made, concatenate({one, -from_to(zeros_of, i, i + 1)}, 0));
  return made;
}

Array companion(const Operand& given) {
  constexpr std::string_view name = "companion";
  const SourceScope place(given.where(), name);
  const Array p = to_inexact(given);
  if (p.rank() == 0 || p.shape()[p.rank() - 1].try_value().value_or(2) < 2)
    throw ShapeError(fmt::format("{}: a polynomial has two coefficients or more: {}.", name, p.type().text()),
                     "Coefficients stand along the last axis.");
  const std::size_t last = p.rank() - 1;
  const Dim n = p.shape()[last] - 1;
  const Array first = -slice_in_dim(p, 1, n + 1, -1) / slice_in_dim(p, 0, 1, -1);
  Shape rows = first.shape();
  rows[last] = n - 1;
  rows.push_back(n);
  const Array below = iota(DType::i32, {n - 1, n}, 0) == iota(DType::i32, {n - 1, n}, 1);
  return concatenate(
      {expand_dims(first, static_cast<std::int64_t>(last)), broadcast_to(convert(below, p.dtype()), rows)},
      static_cast<std::int64_t>(last));
}

Array roots(const Operand& given) {
  constexpr std::string_view name = "roots";
  const SourceScope place(given.where(), name);
  const Array p = coefficients_of(name, to_inexact(given));
  const Dim n = p.shape()[0];
  if (n.try_value().value_or(2) < 2) return zeros({0}, linalg::eigvals(ones({1, 1}, p.dtype())).dtype());
  const Array places = iota(DType::i32, {n}, 0), count = size_as_array(n, DType::i32), zero = p == 0;
  const Array first = amin(where(zero, count, places));  // n: all are 0
  // Turned around, so that the zeros stand behind: each of them is one more zero of the polynomial, at 0.
  const Array turned = take(where(first == count, 1, p), (places + first) % count);
  Array made = roots_of_leading(turned);
  made = take(made, argsort(convert(made == 0, DType::i32)));
  const Array known = from_to(places, 0, n - 1) < count - 1 - first;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return where(known, made, Array(Scalar(std::complex<double>(nan, nan)).convert(made.dtype())));
}

Array vander(const Operand& given, const std::optional<Dim>& columns, const VanderOptions& options) {
  constexpr std::string_view name = "vander";
  const SourceScope place(given.where(), name);
  const Array x = given->dtype() == DType::bool_ ? convert(given, DType::i32) : Array(given);
  if (x.rank() != 1) throw ShapeError(fmt::format("{}: {} is no vector.", name, x.type().text()), "Give one axis.");
  const Dim m = x.shape()[0], n = columns.value_or(m);
  if (n.try_value() == 0) return zeros({m, 0}, x.dtype());
  const Array column = reshape(x, {m, 1});
  if (n.known() && is_inexact(x.dtype())) {
    Arrays powers;
    for (std::int64_t i = 0; i < n.value(); ++i)
      powers.push_back(integer_pow(column, options.increasing ? i : n.value() - 1 - i));
    return concatenate(powers, 1);
  }
  const Array up = iota(is_integer(x.dtype()) ? x.dtype() : DType::i32, {n}, 0);
  const Array exponents = options.increasing ? up : size_as_array(n - 1, up.dtype()) - up;
  const Array row = reshape(exponents, {1, n});
  return is_integer(x.dtype()) ? integer_pow(column, row) : pow(column, convert(row, x.dtype()));
}

PolynomialFit polyfit(const Operand& given_x, const Operand& given_y, std::int64_t degree,
                      const PolyfitOptions& options) {
  constexpr std::string_view name = "polyfit";
  const SourceScope place(given_x.where(), name);
  if (degree < 0) throw ShapeError(fmt::format("{}: of degree {}.", name, degree), "Give 0 or more.");
  const auto require = [&](bool holds, const char* what) {
    if (!holds)
      throw ShapeError(
          fmt::format("{}: x {} and y {}: {}.", name, given_x->type().text(), given_y->type().text(), what),
          "x is a vector with elements, y has as many along its first axis, and two axes at most.");
  };
  require(given_x->rank() == 1, "expected 1D vector for x");
  require(given_x->shape()[0].try_value() != 0, "expected non-empty vector for x");
  require(given_y->rank() == 1 || given_y->rank() == 2, "expected 1D or 2D array for y");
  const Dim m = given_x->shape()[0];
  require(decided_equal(m, given_y->shape()[0]) != false, "expected x and y to have same length");
  const Met met = in_one_dtype(Arrays{given_x, given_y});
  const Array x = to_inexact(met.operands[0]);
  Array y = to_inexact(met.operands[1]), powers = vander(x, degree + 1);
  const auto rows_of_y = [&](const Array& v) { return y.rank() == 1 ? v : reshape(v, {v.shape()[0], 1}); };
  if (options.weights) {
    require(options.weights->rank() == 1 && decided_equal(options.weights->shape()[0], m) != false,
            "expected w and y to have the same length");
    const Array w = convert(*options.weights, x.dtype());
    powers = powers * reshape(w, {m, 1});
    y = y * rows_of_y(w);
  }
  const Array scale = norm(powers, 0);  // columns of one length: the system is better conditioned
  powers = powers / scale;
  const DType part = real_part_of(computed_in(x.dtype()));
  const Array rcond = options.rcond ? *options.rcond : size_as_array(m, part) * special::epsilon_of(part);
  const linalg::LeastSquares found = linalg::lstsq(powers, y, {.rcond = rcond});
  PolynomialFit made{found.x / rows_of_y(scale), found.residuals, found.rank, found.s, {}};
  if (!options.covariance) return made;
  const Array lengths = reshape(scale, {degree + 1, 1}) * scale;
  made.unscaled_covariance = linalg::inv(matmul(transpose(powers), powers)) / lengths;
  return made;
}

}  // namespace tenon
