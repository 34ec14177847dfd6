#include "tenon/kernel/complex_numbers.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/base/error.h"
#include "tenon/kernel/complex_parts.h"

namespace tenon::kernel {
namespace parts {
namespace {

Expr bits_of(const Expr& x) { return bitcast(unsigned_of(x.dtype()), x); }
// Of as many bits as a real number has.
Expr integer(const Expr& like, std::uint64_t value) {
  if (like.dtype() == DType::f64) return constant(DType::u64, &value);
  const auto low = static_cast<std::uint32_t>(value);
  return constant(DType::u32, &low);
}

// 1 with the sign of x, a NaN's left out.
Expr sign_of(const Expr& x) { return with_sign(number(x, 1), select(is_equal(x, x), x, number(x, 1))); }
// Whether e^x is infinite or 0 of an angle that is none, infinite or NaN: the first part is as large as of any other.
Expr is_endless_of_no_angle(const Pair& z) {
  return both(is_infinite(z.re), unary(Unary::not_, unary(Unary::is_finite, z.im)));
}

}  // namespace

Expr infinity(const Expr& like) { return number(like, std::numeric_limits<double>::infinity()); }
Expr with_sign(const Expr& x, const Expr& y) {
  const std::uint64_t sign = format_of(x.dtype()).sign();
  return bitcast(x.dtype(), either(both(bits_of(x), integer(x, ~sign)), both(bits_of(y), integer(x, sign))));
}
std::pair<Expr, Expr> magnitudes(const Pair& z) {
  const Expr x = magnitude(z.re), y = magnitude(z.im), x_is_less = is_less(x, y);
  return {select(x_is_less, y, x), select(x_is_less, x, y)};
}

Expr modulus(const Pair& z, const Expr& factor) {
  const auto [larger, smaller] = magnitudes(z);
  const Expr ratio = smaller / larger, length = larger * factor * root(number(ratio, 1) + ratio * ratio);
  const Expr plain = binary(Binary::or_, is_zero(larger), is_infinite(larger));
  return select(plain, larger, length);
}

// e^(x/2) twice, so that it overflows only where the result does. A part is 0 where the angle is, and both where x is
// -infinity, whatever the angle.
Pair exponential(const Pair& z) {
  const Expr half = unary(Unary::exp, half_of(z.re));
  const Expr gone = is_equal(z.re, -infinity(z.re)), real = is_zero(z.im);
  const auto part = [&](const Expr& of_angle) {
    return select(gone, zero(half) * sign_of(of_angle), half * of_angle * half);
  };
  const Expr endless = both(is_endless_of_no_angle(z), is_less(zero(z.re), z.re));
  return {select(endless, z.re, part(unary(Unary::cos, z.im))), select(real, z.im, part(unary(Unary::sin, z.im)))};
}

// log|z| as log m + log1p((n/m)²)/2 of the larger part m and the smaller n; where that cancels, near |z| = 1, as
// log1p((m - 1)·(m + 1) + n²)/2.
Pair logarithm(const Pair& z) {
  const auto [m, n] = magnitudes(z);
  const Expr one = number(m, 1), near = both(is_less(number(m, 0.5), m), is_less(m, number(m, 2)));
  const Expr ratio = select(is_equal(m, n), one, n / m);
  const Expr square = select(near, (m - one) * (m + one) + n * n, select(is_zero(m + n), m, ratio * ratio));
  const Expr length = select(near, zero(m), unary(Unary::log, m)) + half_of(unary(Unary::log1p, square));
  const Expr infinite = either(is_infinite(z.re), is_infinite(z.im));  // whatever the other part is
  return {select(infinite, infinity(m), length), binary(Binary::atan2, z.im, z.re)};
}

}  // namespace parts

using namespace parts;

namespace {

// A power of two, exactly, that brings x >= 0 into [1/2, 1), or of the ends of the range near it. Infinity and NaN are
// taken for the largest number.
Expr scale_of(const Expr& x) {
  const FloatFormat f = format_of(x.dtype());
  const auto in_place = [&](int exponent) {
    return integer(x, static_cast<std::uint64_t>(exponent) << static_cast<unsigned>(f.mantissa_bits));
  };
  const Expr exponent = both(bits_of(x), integer(x, f.exponents()));
  const Expr highest = in_place(2 * f.bias - 2);  // its scale is the smallest normal number
  const Expr bounded = select(is_less(exponent, highest), exponent, highest);
  return bitcast(x.dtype(), in_place(2 * f.bias - 1) - bounded);
}

Pair multiply(const Pair& x, const Pair& y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
Pair times_i(const Pair& z) { return {-z.im, z.re}; }

// By Smith's method: of y = c + di with |c| >= |d|, x / y is x·(1 - ri) / (c + dr) where r = d / c, and with the parts
// exchanged else; a real divisor divides each part. y is scaled first, so that its larger part is about 1. Of a zero y
// each part of x is divided by it; of an infinite one what is infinite counts as 1 and the rest as 0, of a result that
// is 0 where x is finite.
Pair divide(const Pair& x, const Pair& y) {
  const Expr larger = magnitudes(y).first;
  const Expr scale = scale_of(larger), endless = is_infinite(larger), none = is_zero(larger);
  const auto scaled = [&](const Expr& part) {
    const Expr one = with_sign(select(is_infinite(part), number(part, 1), zero(part)), part);
    return select(endless, one, part * scale);
  };
  const Expr c = scaled(y.re), d = scaled(y.im), turned = is_less(magnitude(c), magnitude(d));
  const Expr most = select(turned, d, c), ratio = select(turned, c, d) / most;
  const Expr re = select(turned, x.re * ratio + x.im, x.re + x.im * ratio);
  const Expr im = select(turned, x.im * ratio - x.re, x.im - x.re * ratio);
  const Expr divisor = select(none, y.re, most + select(turned, c, d) * ratio);
  const Expr down = select(endless, zero(scale), scale);
  return {select(none, x.re, re) / divisor * down, select(none, x.im, im) / divisor * down};
}

// The part that does not cancel is r = √((|z| + |x|)/2); the other one is y/2r.
Pair square_root(const Pair& z) {
  const Expr x = magnitude(z.re), y = magnitude(z.im);
  const Expr r = root(modulus(z, number(x, 0.5)) + half_of(x)), none = is_zero(r);
  const Expr infinite = is_infinite(z.im);
  const Expr other = select(none, y, select(infinite, y, y / (r + r)));
  const Expr negative = is_less(z.re, zero(z.re));
  return {select(negative, other, r), with_sign(select(negative, r, other), z.im)};
}

// sinh(x + iy) = sinh x·cos y + i·cosh x·sin y.
Pair hyperbolic_sine(const Pair& z) {
  const Expr imaginary = unary(Unary::cosh, z.re) * unary(Unary::sin, z.im);
  const Expr real = unary(Unary::sinh, z.re) * unary(Unary::cos, z.im);
  const Expr held = select(is_zero(z.re), with_sign(z.re, sign_of(real)), real);
  return {select(is_endless_of_no_angle(z), z.re, held), select(is_zero(z.im), z.im, imaginary)};
}
// cosh(x + iy) = cosh x·cos y + i·sinh x·sin y.
Pair hyperbolic_cosine(const Pair& z) {
  const Expr imaginary = unary(Unary::sinh, z.re) * unary(Unary::sin, z.im);
  const Expr nothing = either(is_zero(z.re), is_zero(z.im)), real = unary(Unary::cosh, z.re) * unary(Unary::cos, z.im);
  return {select(is_endless_of_no_angle(z), magnitude(z.re), real),
          select(nothing, zero(imaginary) * sign_of(z.re) * sign_of(z.im), imaginary)};
}
// tanh(x + iy) = (sinh x·cosh x + i·sin y·cos y) / (sinh² x + cos² y). Beyond `far` the real part is 1, and the
// imaginary one too small to be held.
Pair hyperbolic_tangent(const Pair& z) {
  const double far = z.re.dtype() == DType::f32 ? 44 : 354;
  const Expr limit = number(z.re, far), size = magnitude(z.re), beyond = is_less(limit, size);
  const Expr x = with_sign(select(beyond, limit, size), z.re);
  const Expr sinh = unary(Unary::sinh, x), cosh = unary(Unary::cosh, x);
  const Expr sin = unary(Unary::sin, z.im), cos = unary(Unary::cos, z.im);
  const Expr below = sinh * sinh + cos * cos, imaginary = sin * cos / below;
  return {select(beyond, with_sign(number(x, 1), x), sinh * cosh / below),
          select(is_zero(z.im), z.im, select(beyond, with_sign(zero(x), sin * cos), imaginary))};
}
Pair minus_i_times(const Pair& z) { return {z.im, -z.re}; }

// e^(y·log x); 0 where x is 0 and the exponent's real part above 0.
Pair power(const Pair& x, const Pair& y) {
  const Pair result = exponential(multiply(y, logarithm(x)));
  const Expr none = both(both(is_zero(x.re), is_zero(x.im)), is_less(zero(y.re), y.re));
  return {select(none, zero(x.re), result.re), select(none, zero(x.re), result.im)};
}

}  // namespace

Pair unary(Unary op, const Pair& z) {
  switch (op) {
    case Unary::neg:
      return {-z.re, -z.im};
    case Unary::rounded:
      return {unary(op, z.re), unary(op, z.im)};
    case Unary::sqrt:
      return square_root(z);
    case Unary::rsqrt:
      return divide({number(z.re, 1), zero(z.re)}, square_root(z));
    case Unary::exp:
      return exponential(z);
    case Unary::expm1:
      return exponential_less_one(z);
    case Unary::log:
      return logarithm(z);
    case Unary::log1p:
      return logarithm_of_one_and(z);
    case Unary::asin:
      return inverse_sine(z);
    case Unary::acos:
      return inverse_cosine(z);
    case Unary::atan:
      return inverse_tangent(z);
    case Unary::sinh:
      return hyperbolic_sine(z);
    case Unary::cosh:
      return hyperbolic_cosine(z);
    case Unary::tanh:
      return hyperbolic_tangent(z);
    case Unary::sin:  // sin z = -i·sinh(iz), and so tan
      return minus_i_times(hyperbolic_sine(times_i(z)));
    case Unary::cos:
      return hyperbolic_cosine(times_i(z));
    case Unary::tan:
      return minus_i_times(hyperbolic_tangent(times_i(z)));
    default:
      throw CompileError(fmt::format("kernel: {} of a complex number.", name(op)));
  }
}

Pair binary(Binary op, const Pair& x, const Pair& y) {
  switch (op) {
    case Binary::add:
      return {x.re + y.re, x.im + y.im};
    case Binary::sub:
      return {x.re - y.re, x.im - y.im};
    case Binary::mul:
      return multiply(x, y);
    case Binary::div:
      return divide(x, y);
    case Binary::pow:
      return power(x, y);
    default:
      throw CompileError(fmt::format("kernel: {} of complex numbers.", name(op)));
  }
}

}  // namespace tenon::kernel
