// Inverse functions of complex numbers, and those that are exact near 0.
#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/kernel/complex_parts.h"

namespace tenon::kernel::parts {
namespace {

using std::numbers::ln2;
using std::numbers::pi;

bool is_wide(const Expr& x) { return x.dtype() == DType::f64; }
Expr is_above(const Expr& x, double limit) { return is_less(number(x, limit), x); }
// Where 1 beside a square is less than rounding.
Expr is_beyond(const Expr& x, const Expr& y) {
  const double limit = is_wide(x) ? 1e8 : 1e4;
  return either(is_above(x, limit), is_above(y, limit));
}
Expr log1p(const Expr& x) { return unary(Unary::log1p, x); }
Expr angle_of(const Expr& y, const Expr& x) { return binary(Binary::atan2, y, x); }
// Where a part is 0 and the other NaN.
Expr is_zero_beside_nan(const Expr& x, const Expr& y) { return both(is_zero(x), is_nan(y)); }

// Of asin(x + iy): its real part is atan2(x, other), and `size` is the magnitude of its imaginary part.
struct Arcsine {
  Expr other, size;
};
Arcsine arcsine(const Pair& z) {
  const Expr a = magnitude(z.re), b = magnitude(z.im), one = number(a, 1);
  const Expr r = modulus({a + one, b}, one), s = modulus({a - one, b}, one);
  const Expr middle = half_of(r + s);  // the half axis of the ellipse through the point, with the foci 1 and -1
  const Expr inside = is_less(a, one), to_focus = s + magnitude(one - a);
  const Expr above_focus = is_zero(to_focus);
  const Expr gap = select(above_focus, zero(b), b / select(above_focus, one, to_focus));
  const Expr sum = r + a + one, rest = b / sum;
  // sqrt(middle² - a²) and middle - 1, without their differences.
  const Expr share = half_of(middle + a);
  const Expr other =
      select(is_less(one, a), b * root(share * (one / sum + one / to_focus)), root(share * (b * rest + s + (one - a))));
  const Expr slope = half_of(rest + gap);
  const Expr more = select(inside, b * slope, half_of(b * rest + to_focus));
  const Expr length = select(inside, root(b) * root(slope * (middle + one)), root(more * (middle + one)));
  // Of large numbers asin z = atan2(x, |y|) + i·log 2|z|.
  const Expr far = is_beyond(a, b), infinite = either(is_infinite(a), is_infinite(b));
  const Expr half = modulus({half_of(a), half_of(b)}, one);
  const Expr large = select(infinite, infinity(a), unary(Unary::log, half) + number(a, 2 * ln2));
  return {select(far, b, other), select(far, large, log1p(more + length))};
}

// |atanh(x + iy)| in each part.
Pair artanh(const Pair& z) {
  const Expr a = magnitude(z.re), b = magnitude(z.im), one = number(a, 1);
  const Expr infinite = either(is_infinite(a), is_infinite(b)), nan = is_nan(a + b);
  const Expr far = either(is_beyond(a, b), infinite);
  // 1/z of large numbers, beside which the rest is less than rounding.
  const Expr length = modulus({a, b}, one);
  const Expr near_zero = a / length / length, turn = b / length / length;
  const Expr distance = modulus({a - one, b}, one);
  const double least = 4 * std::sqrt(is_wide(a) ? std::numeric_limits<double>::min()
                                                : static_cast<double>(std::numeric_limits<float>::min()));
  const Expr close = is_less(distance, number(a, least));  // its square would vanish
  const Expr at_one = half_of(number(a, ln2) - unary(Unary::log, distance));
  const Expr near = log1p(number(a, 4) * a / distance / distance) * number(a, 0.25);
  const Expr size = select(far, near_zero, select(nan, a, select(close, at_one, near)));
  const Expr angle = half_of(angle_of(b + b, (one - a) * (one + a) - b * b));
  const Expr right = number(a, pi / 2), none = number(a, std::numeric_limits<double>::quiet_NaN());
  const Expr no_size = both(nan, both(unary(Unary::not_, infinite), unary(Unary::not_, is_zero(a))));
  const Expr no_angle = both(nan, unary(Unary::not_, is_infinite(b)));
  return {select(no_size, none, select(infinite, zero(a), size)),
          select(no_angle, none, select(infinite, right, select(far, right - turn, angle)))};
}

}  // namespace

Pair inverse_sine(const Pair& z) {
  const auto [other, size] = arcsine(z);
  return {select(is_zero_beside_nan(z.re, z.im), z.re, angle_of(z.re, other)), with_sign(size, z.im)};
}

Pair inverse_cosine(const Pair& z) {
  const auto [other, size] = arcsine(z);
  return {select(is_zero_beside_nan(z.re, z.im), number(other, pi / 2), angle_of(other, z.re)), -with_sign(size, z.im)};
}

// atan z = -i·atanh(iz).
Pair inverse_tangent(const Pair& z) {
  const Pair turned = artanh({z.im, z.re});
  return {with_sign(turned.im, z.re), with_sign(turned.re, z.im)};
}

// e^x·cos y - 1 as (e^x - 1)·cos y - 2 sin²(y/2).
Pair exponential_less_one(const Pair& z) {
  const Expr& x = z.re;
  const Pair whole = exponential(z);
  const Expr half = unary(Unary::sin, half_of(z.im)), less = unary(Unary::expm1, x), one = number(x, 1);
  const Expr near = less * unary(Unary::cos, z.im) - (half + half) * half;
  const Expr re = select(is_less(one, x), whole.re - one, near), real = is_zero(z.im);
  const Expr vanishes = both(is_equal(x, -infinity(x)), unary(Unary::not_, unary(Unary::is_finite, z.im)));
  return {select(real, less, select(vanishes, -one, re)), whole.im};
}

// log|1 + z| as log1p(x·(2 + x) + y²)/2 near 0.
Pair logarithm_of_one_and(const Pair& z) {
  const Expr one = number(z.re, 1), half = number(z.re, 0.5);
  const Pair whole = logarithm({one + z.re, z.im});
  const Expr near = both(is_less(magnitude(z.re), half), is_less(magnitude(z.im), half));
  const Expr size = half_of(log1p(z.re * (number(z.re, 2) + z.re) + z.im * z.im));
  return {select(near, size, whole.re), whole.im};
}

}  // namespace tenon::kernel::parts
