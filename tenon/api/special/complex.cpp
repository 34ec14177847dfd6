// Functions of complex numbers z = x + iy, by their real parts: Faddeeva's and the logarithm of the gamma function.
#include <cmath>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/special/gamma.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

struct ComplexParts {
  Array re, im;
};
ComplexParts operator*(const ComplexParts& a, const ComplexParts& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
ComplexParts inverse(const ComplexParts& z) {
  const Array size = z.re * z.re + z.im * z.im;
  return {z.re / size, -z.im / size};
}

// exp(-z²), of x ≥ 0.
ComplexParts exp_of_minus_square(const Array& x, const Array& y) {
  const Array size = exp((y - x) * (y + x)), angle = 2.0 * x * y;
  return {size * cos(angle), -size * sin(angle)};
}

// w(z) of x, y ≥ 0 by the trapezoidal rule for i z / π ∫ exp(-t²) / (z² - t²) dt, at multiples of h or halfway between
// them, whichever are farther from z; where y < π / h the residue of the pole at z comes to it. Al Azah and
// Chandler-Wilde, SIAM J. Numer. Anal. 59 (2021).
ComplexParts faddeeva_of_first_quadrant(const Array& x, const Array& y) {
  const int nodes = x.dtype() == DType::f64 ? 13 : 7;
  const double h = std::sqrt(pi / nodes);
  const Array place = x / h, from_multiple = abs(place - round(place)), halfway = from_multiple < 0.25;
  ComplexParts sum{zeros_like(x), zeros_like(x)};
  const Array cross = 2.0 * x * y, square = y * y;
  for (int k = 0; k < nodes; ++k) {
    const double on = k * h, between = (k + 0.5) * h;
    const Array t = where(halfway, between, on);
    const Array weight = where(halfway, std::exp(-between * between), (k == 0 ? 0.5 : 1.0) * std::exp(-on * on));
    const ComplexParts term = inverse({(x - t) * (x + t) - square, cross});
    sum = {sum.re + weight * term.re, sum.im + weight * term.im};
  }
  ComplexParts made = ComplexParts{y * (-2 * h / pi), x * (2 * h / pi)} * sum;
  // 2 exp(-z²) / (1 ± exp(-2πiz / h))
  const Array near = y < pi / h, low = where(near, y, 0.0), size = exp(-2 * pi / h * low), angle = 2 * pi / h * x;
  const ComplexParts turned{size * cos(angle), size * sin(angle)};
  const ComplexParts pole =
      inverse({where(halfway, 1.0, -1.0) + turned.re, turned.im}) * turned * exp_of_minus_square(x, low);
  return {made.re + where(near, 2.0 * pole.re, 0.0), made.im + where(near, 2.0 * pole.im, 0.0)};
}

Arrays faddeeva_of(In in) {
  const Array &x = in[0], &y = in[1];
  const double limit = x.dtype() == DType::f64 ? 1e8 : 1e4;
  const Array wide = abs(x), high = abs(y), large = max(wide, high) > limit;
  const ComplexParts near = faddeeva_of_first_quadrant(where(large, 1.0, wide), where(large, 1.0, high));
  // i / (√π z), which is scaled so that no square overflows
  const Array most = max(wide, high), scale = where(large & (most < infinity), most, 1.0);
  const ComplexParts unit = inverse({where(large, wide / scale, 1.0), where(large, high / scale, 1.0)});
  const Array endless = most == infinity;
  const auto far = [&](const Array& part) { return where(endless, 0.0, part / scale * std::numbers::inv_sqrtpi); };
  ComplexParts made{where(large, far(-unit.im), near.re), where(large, far(unit.re), near.im)};
  // w(-x + iy) is the conjugate, and w(z) = 2 exp(-z²) - w(-z)
  const Array below = y < 0.0, turned = where((x < 0.0) != below, -made.im, made.im);
  const ComplexParts bell = exp_of_minus_square(where(below, wide, 0.0), where(below, high, 0.0));
  const Array odd = where(x < 0.0, -1.0, 1.0);  // 2xy is that of |x| and |y| where both are negative
  return {where(below, 2.0 * bell.re - made.re, made.re), where(below, -2.0 * odd * bell.im - turned, turned)};
}
// w' = 2i / √π - 2zw
ComplexParts faddeeva_slope(In in) {
  const Array &x = in[0], &y = in[1];
  const Array w = wofz(complex(x, y));
  const ComplexParts product = ComplexParts{x, y} * ComplexParts{real(w), imag(w)};
  return {-2.0 * product.re, 2.0 * std::numbers::inv_sqrtpi - 2.0 * product.im};
}

ComplexParts log_of(const ComplexParts& z) {
  const Array large = max(abs(z.re), abs(z.im)), u = z.re / large, v = z.im / large;
  return ComplexParts{log(large) + 0.5 * log(u * u + v * v), atan2(z.im, z.re)};
}

// log Γ(z) of x ≥ 1/2: Stirling's formula at z + 10, less log (z + k) for k below 10.
ComplexParts log_gamma_of_right_half(const Array& x, const Array& y) {
  constexpr int steps = 10;
  const Array near = max(x, abs(y)) < steps;
  ComplexParts passed{zeros_like(x), zeros_like(x)};
  for (int k = 0; k < steps; ++k) {
    const ComplexParts one = log_of({x + static_cast<double>(k), y});
    passed = {passed.re + where(near, one.re, 0.0), passed.im + where(near, one.im, 0.0)};
  }
  const ComplexParts z{where(near, x + static_cast<double>(steps), x), y}, logarithm = log_of(z);
  const Array large = max(z.re, abs(z.im));
  const ComplexParts scaled = inverse({z.re / large, z.im / large}), reciprocal{scaled.re / large, scaled.im / large};
  const ComplexParts square = reciprocal * reciprocal;
  ComplexParts rest{zeros_like(x), zeros_like(x)};
  const std::span<const double> weights = stirling_weights();
  for (std::size_t k = weights.size(); k-- > 0;) {
    rest = rest * square;
    rest.re = rest.re + weights[k];
  }
  rest = rest * reciprocal;
  const ComplexParts product = ComplexParts{z.re - 0.5, z.im} * logarithm;
  return {product.re - z.re + 0.5 * std::log(2 * pi) + rest.re - passed.re, product.im - z.im + rest.im - passed.im};
}
Arrays log_gamma_by_parts(In in) {
  const Array& x = in[0];
  const Array high = abs(in[1]), right = x >= 0.5;
  const ComplexParts made = log_gamma_of_right_half(where(right, x, 1.0 - x), where(right, high, -high));
  // Of y ≥ 0: log Γ(z) = log 2π + iπ (z - 1/2) - log(1 - exp(2πiz)) - log Γ(1 - z); Hare 1997.
  const Array turn = where(right, 0.25, x - round(x)), up = where(right, 1.0, high);
  const Array size = exp(-2 * pi * up), sine = sin(pi * turn);
  const Array re = -expm1(-2 * pi * up) + 2.0 * size * sine * sine, im = -size * sin(2 * pi * turn);
  const Array pole = (re == 0.0) & (im == 0.0), safe = where(pole, 1.0, re);
  const ComplexParts rest = log_of({safe, im});
  const Array left = std::log(2 * pi) - pi * high - rest.re - made.re;
  const Array left_angle = pi * (x - 0.5) - rest.im - made.im;
  const Array angle = where(right, made.im, where(pole, nan, left_angle));
  return {where(right, made.re, where(pole, infinity, left)), where(in[1] < 0.0, -angle, angle)};
}
Array log_gamma_of_positive(In in) {
  const Array below = in[0] < 0.0;
  return where(below, nan, lgamma(where(below, 1.0, in[0])));
}

constinit const SpecialFunction faddeeva_function(
    "wofz", faddeeva_of,
    [](In in) {
      const ComplexParts slope = faddeeva_slope(in);
      return Arrays{slope.re, slope.im};
    },
    [](In in) {
      const ComplexParts slope = faddeeva_slope(in);
      return Arrays{-slope.im, slope.re};
    });
constinit const SpecialFunction log_gamma_function("loggamma", log_gamma_by_parts);

Array by_parts(const SpecialFunction& f, const Array& x, const Array& y) {
  const Arrays made = f.results({x, y});
  return complex(made[0], made[1]);
}
Array complex_log_gamma(In in) {
  const Array wide = convert(in[0], DType::c128);  // in f32 its parts lose what they leave of each other
  return convert(by_parts(log_gamma_function, real(wide), imag(wide)), in[0].dtype());
}

constinit const SpecialFunction log_gamma_of_any_function("loggamma", log_gamma_of_positive,
                                                          OfComplex{complex_log_gamma},
                                                          [](In x) { return digamma(x[0]); });

}  // namespace

Array wofz(const Operand& z) {
  const Array x = to_inexact(z);
  if (is_complex(x.dtype())) return by_parts(faddeeva_function, real(x), imag(x));
  const Array wide = widened(x);
  return by_parts(faddeeva_function, wide, zeros_like(wide));
}
Array loggamma(const Operand& x) { return log_gamma_of_any_function({x}); }

}  // namespace tenon::special
