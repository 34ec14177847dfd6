#include "tests/programs/elementwise.h"

#include "tenon/tenon.h"

namespace tenon::sample {
namespace {

using Unary = Array (*)(const Array& x);
using Binary = Array (*)(const Array& x, const Array& y);

Array above_zero(const Array& x) { return square(x) + ones_like(x.type()) * 1.5; }

// Straight-line code in which what a link's derivative is made of doubles from link to link.
Array chained(Choices& c, Array x) {
  const std::int64_t links = c.between(2, 40), kind = c.below(3);
  x = sin(x);
  for (std::int64_t i = 0; i < links; ++i) x = kind == 0 ? x * x * 0.9 : kind == 1 ? x + sin(x) * x * 0.1 : gelu(x);
  return x;
}

// A branch for each element, of which the one that is not taken may be infinite or have an infinite derivative.
Array guarded(Choices& c, const Array& x) {
  static const std::vector<Unary> functions{[](const Array& v) { return sqrt(v); },
                                            [](const Array& v) { return log(v) * v; },
                                            [](const Array& v) { return v / square(v - 0.25); },
                                            [](const Array& v) { return pow(v - 0.25, ones_like(v.type()) * 0.5); }};
  const Unary f = c.of(functions);
  const auto each = vmap([f](const Array& v) {
    return cond(v > 0.3137, [f](const Array& u) { return f(u); }, [](const Array& u) { return u * 0.5; }, v);
  });
  return reshape(each(reshape(x, {x.shape().elements()})), x.shape());
}

Array real_unary(Choices& c, const Array& x) {
  static const std::vector<Unary> functions{[](const Array& x) { return sin(x); },
                                            [](const Array& x) { return -x; },
                                            [](const Array& x) { return tanh(x); },
                                            [](const Array& x) { return cos(x); },
                                            [](const Array& x) { return exp(sin(x)); },
                                            [](const Array& x) { return log(above_zero(x)); },
                                            [](const Array& x) { return sqrt(above_zero(x)); },
                                            [](const Array& x) { return logistic(x); },
                                            [](const Array& x) { return abs(x); },
                                            [](const Array& x) { return erf(x); },
                                            [](const Array& x) { return atan(x); },
                                            [](const Array& x) { return rsqrt(above_zero(x)); },
                                            [](const Array& x) { return expm1(sin(x)); },
                                            [](const Array& x) { return log1p(square(x)); },
                                            [](const Array& x) { return floor(x); },
                                            [](const Array& x) { return sign(x); },
                                            [](const Array& x) { return round(x); },
                                            [](const Array& x) { return asin(sin(x) * 0.9); },
                                            [](const Array& x) { return acos(sin(x) * 0.9); },
                                            [](const Array& x) { return tan(sin(x)); },
                                            [](const Array& x) { return sinh(sin(x)); },
                                            [](const Array& x) { return cosh(sin(x)); },
                                            [](const Array& x) { return ceil(x); },
                                            [](const Array& x) { return integer_pow(above_zero(x), -2); },
                                            [](const Array& x) { return erf_inv(sin(x) * 0.9); },
                                            [](const Array& x) { return square(sin(x)); },
                                            [](const Array& x) { return clamp(x, -0.7, 0.8); },
                                            nullptr};  // what makes choices too
  if (const Unary f = c.of(functions); f != nullptr) return f(x);
  switch (c.below(4)) {
    case 0:
      return chained(c, x);
    case 1:
      return guarded(c, x);
    default:
      return integer_pow(sin(x), c.between(0, 5));
  }
}

Array complex_unary(Choices& c, const Array& x) {
  static const std::vector<Unary> functions{[](const Array& x) { return sin(x); },
                                            [](const Array& x) { return x * x; },
                                            [](const Array& x) { return conj(x); },
                                            [](const Array& x) { return complex(imag(x), tenon::real(x)); },
                                            [](const Array& x) { return exp(sin(x) * 0.1); },
                                            [](const Array& x) { return abs(x) + imag(x); },
                                            [](const Array& x) { return sqrt(x * conj(x) + 1.5); },
                                            [](const Array& x) { return log(x * conj(x) + 1.5); },
                                            [](const Array& x) { return tanh(x * 0.1); }};
  return c.of(functions)(x);
}

Array integer_unary(Choices& c, const Array& x) {
  static const std::vector<Unary> functions{[](const Array& x) { return -x; }, [](const Array& x) { return abs(x); },
                                            [](const Array& x) { return sign(x); }, [](const Array& x) { return !x; },
                                            nullptr};
  const Unary f = c.of(functions);
  return f != nullptr ? f(x) : integer_pow(x, c.between(0, 4));
}

const std::vector<Binary>& inexact_binaries() {
  static const std::vector<Binary> functions{
      [](const Array& x, const Array& y) { return x + y; }, [](const Array& x, const Array& y) { return x * y; },
      [](const Array& x, const Array& y) { return x - y; },
      [](const Array& x, const Array& y) { return x / (y * (real(x) ? y : conj(y)) + 1.5); }};
  return functions;
}

const std::vector<Binary>& real_binaries() {
  static const std::vector<Binary> functions = [] {
    std::vector<Binary> all = inexact_binaries();
    all.insert(all.end(), {[](const Array& x, const Array& y) { return max(x, y); },
                           [](const Array& x, const Array& y) { return min(x, y); },
                           [](const Array& x, const Array& y) { return atan2(x, square(y) + 0.5); },
                           [](const Array& x, const Array& y) { return pow(square(x) + 0.5, sin(y)); },
                           [](const Array& x, const Array& y) { return x * 0.5 - 0.25 * y; },
                           [](const Array& x, const Array& y) { return x % (square(y) + 0.75); }});
    return all;
  }();
  return functions;
}

const std::vector<Binary>& integer_binaries() {
  static const std::vector<Binary> functions{[](const Array& x, const Array& y) { return x + y; },
                                             [](const Array& x, const Array& y) { return x * y; },
                                             [](const Array& x, const Array& y) { return x - y; },
                                             [](const Array& x, const Array& y) { return x / y; },
                                             [](const Array& x, const Array& y) { return x % y; },
                                             [](const Array& x, const Array& y) { return max(x, y); },
                                             [](const Array& x, const Array& y) { return min(x, y); },
                                             [](const Array& x, const Array& y) { return x & y; },
                                             [](const Array& x, const Array& y) { return x | y; },
                                             [](const Array& x, const Array& y) { return pow(x & 3, y & 3); },
                                             [](const Array& x, const Array& y) { return shift_left(x, y); },
                                             [](const Array& x, const Array& y) { return shift_right(x, y); }};
  return functions;
}

}  // namespace

Array some_unary(Choices& c, const Array& x) {
  if (integer(x)) return integer_unary(c, x);
  return real(x) ? real_unary(c, x) : complex_unary(c, x);
}

Array some_binary(Choices& c, const Array& x, const Array& y) {
  return c.of(integer(x) ? integer_binaries() : real(x) ? real_binaries() : inexact_binaries())(x, y);
}

Array some_comparison(Choices& c, const Array& x, const Array& y) {
  static const std::vector<Binary> of_bools{
      [](const Array& x, const Array& y) { return x & y; }, [](const Array& x, const Array& y) { return x | y; },
      [](const Array& x, const Array& y) { return x ^ y; }, [](const Array& x, const Array&) { return !x; }};
  // What is nearly equal may be rounded to either side.
  static const std::vector<Binary> of_reals{[](const Array& x, const Array& y) { return x < y + 0.1379; },
                                            [](const Array& x, const Array& y) { return x >= y + 0.1379; }};
  static const std::vector<Binary> of_integers{
      [](const Array& x, const Array& y) { return x < y; },  [](const Array& x, const Array& y) { return x >= y; },
      [](const Array& x, const Array& y) { return x == y; }, [](const Array& x, const Array& y) { return x != y; },
      [](const Array& x, const Array& y) { return x <= y; }, [](const Array& x, const Array& y) { return x > y; }};
  if (is_complex(x.dtype())) return imag(x) > tenon::real(y) + 0.137;
  return c.of(boolean(x) ? of_bools : real(x) ? of_reals : of_integers)(x, y);
}

}  // namespace tenon::sample
