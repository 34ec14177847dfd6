// The incomplete gamma and beta functions, and the derivative of gamma variates.
//
// Each is a factor that has no cancellation, by Stirling's formula and what it leaves, times a series or a continued
// fraction, which end where a term is less than rounding.
#include <cmath>
#include <functional>
#include <numbers>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/special/gamma.h"
#include "tenon/api/special/iteration.h"
#include "tenon/api/tangents.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/shape.h"

namespace tenon::special {
namespace {

// Σ xⁿ / ((a + 1) … (a + n)), where `going`: four terms a step, two by one quotient.
Array gamma_series(const Array& going, const Array& a, const Array& x) {
  const double rounding = epsilon_of(x.dtype());
  const auto step = [&](const Arrays& carry, const Array& count, In of) {
    const Array &a = of[0], &x = of[1];
    Array term = carry[0], total = carry[1];
    for (const int passed : {3, 1}) {
      const Array near = a + (4.0 * count - passed), far = near + 1.0, scaled = term * (x / (near * far));
      term = scaled * x;
      total = total + (scaled * far + term);
    }
    // Derivatives, whose terms are larger, shall end in rounding too.
    return Step{{term, total}, term > total * (rounding / 64)};
  };
  return until_done(going, step, {ones_like(a), ones_like(a)}, {a, x})[1];
}

// log(ratio) of ratio = 1 + away, which is exact near 0.
Array log_of(const Array& ratio, const Array& away) {
  const Array near = abs(away) < 0.5;
  return where(near, log1p(where(near, away, 0.0)), log(where(near, 1.0, ratio)));
}

// --- gamma ---
// What the incomplete gamma functions have in common at a and x.
class Gamma {
 public:
  Gamma(const Array& a, const Array& x)
      : wrong_((x < 0.0) | (a <= 0.0) | is_nan(a) | is_nan(x)),
        nothing_(x == 0.0),
        // Beyond the last the fraction's terms leave the dtype, and nothing is left of the upper part.
        everything_((x == infinity) | ((x > largest_finite_of(x.dtype()) / 64) & (x > a))),
        usable_(!(wrong_ | nothing_ | everything_ | (a == infinity))),
        limit((a == 0.0) & (x > 0.0)),
        a(where(usable_, a, 1.0)),
        x(where(usable_, x, 1.0)),
        upper((this->x > 1.0) & (this->x > this->a)) {}

  // The root of x^a exp(-x) / Γ(a + 1), which does not underflow where that times something else does not; by
  // Stirling's formula of a, and of a + 1 where that is less than 2.
  Array root_of_factor() const {
    const Array large = a > 1.0, n = where(large, a, a + 1.0), base = where(large, a, 1.0);
    const Array power = a * log_of(x / base, where(large, (x - a) / base, 1.0)) - (x - where(large, a, n));
    const Array rest = where(large, 0.5, a + 0.5) * log(n) + 0.5 * std::log(2 * pi) + stirling_rest(n);
    return exp(0.5 * (power - rest));
  }
  // Something times the factor.
  Array times_factor(const Array& x) const {
    const Array root = root_of_factor();
    return x * root * root;
  }
  // P(a, x) / factor below, Q(a, x) / (a · factor) above, as a function of a.
  Array inner(const Array& a, bool with_slope) const {
    const Array below = usable_ & !upper, above = usable_ & upper;
    const Array of_series = gamma_series(below, where(below, a, 1.0), where(below, x, 0.5));
    const auto terms = [](const Array& p, In others) {
      const Array y = others[0];
      return Fraction{y + 1.0 - p, [=](const Array& n) { return n * (p - n); },
                      [=](const Array& n) { return y + (1.0 - p) + 2.0 * n; }};
    };
    const Array of_fraction =
        1.0 / value_of_fraction(above, terms, where(above, a, 1.0), {where(above, x, 2.0)}, with_slope);
    return where(upper, of_fraction, of_series);
  }
  // The derivative of log(factor) + log(inner) in a, times inner: of `a · factor` above.
  Array slope() const {
    const auto [value, moved] = jvp([&](Array a) { return inner(a, true); }, std::tuple(a), std::tuple(ones_like(a)));
    return moved + value * (log(x) - special::digamma(where(upper, a, a + 1.0)));
  }
  Array finished(const Array& made, const Operand& at_zero, double at_infinity) const {
    return where(wrong_, nan, where(nothing_, at_zero, where(everything_, at_infinity, made)));
  }

 private:
  Array wrong_, nothing_, everything_, usable_;

 public:
  const Array limit, a, x, upper;
};

// P(a, x), or Q(a, x).
Array part(const Array& a, const Array& x, bool above) {
  const Gamma g(a, x);
  const Array size = g.times_factor(g.inner(g.a, false) * where(g.upper, g.a, 1.0));
  const Array made =
      g.finished(where(above ? g.upper : !g.upper, size, 1.0 - size), above ? 1.0 : 0.0, above ? 0.0 : 1.0);
  const Array at_infinity = where((a == infinity) & is_finite(x) & !(x < 0.0), above ? 1.0 : 0.0, made);
  return where(g.limit, above ? 0.0 : 1.0, at_infinity);
}
Array lower_part(In in) { return part(in[0], in[1], false); }
Array upper_part(In in) { return part(in[0], in[1], true); }

Array slope_in_a(In in) {
  const Gamma g(in[0], in[1]);
  return g.finished(g.times_factor(g.slope() * where(g.upper, -g.a, 1.0)), 0.0, 0.0);
}
Array slope_of_variate(In in) {
  const Gamma g(in[0], in[1]);
  return g.finished(g.slope() * g.x * where(g.upper, 1.0, -1.0 / g.a), 0.0, nan);
}
// exp(-x) x^(a - 1) / Γ(a).
Array gamma_density(In in) {
  const Gamma g(in[0], in[1]);
  const Array at_zero = where(in[0] < 1.0, infinity, where(in[0] == 1.0, 1.0, 0.0));
  return where(g.limit, 0.0, g.finished(g.times_factor(g.a / g.x), at_zero, 0.0));
}

// --- beta ---
// The factor x^a y^b / B(a, b), of x + y = 1, times something else; by Stirling's formula of n and m: of a and b, or 1
// more where these are less than 1.
Array times_beta_factor(const Array& other, const Array& a, const Array& b, const Array& x, const Array& y) {
  const Array small_a = a < 1.0, small_b = b < 1.0, n = where(small_a, a + 1.0, a), m = where(small_b, b + 1.0, b);
  const Array whole = n + m, away = n * y - m * x;
  const Array rest = stirling_rest(n) + stirling_rest(m) - stirling_rest(whole);
  const Array exponent = a * log_of(x * (whole / n), -away / n) + b * log_of(y * (whole / m), away / m) - rest;
  const Array passed = where(small_a, whole / n * (a / (a + b)), 1.0) * where(small_b, whole / m * (b / (n + b)), 1.0);
  const Array root = exp(0.5 * exponent);  // which does not underflow where the product does not
  return other * root * (sqrt(n / whole * m / (2 * pi)) * passed) * root;
}

// Of I(a, b, x) = factor / a · fraction.
Array beta_fraction(const Array& going, const Array& a, const Array& b, const Array& x, bool with_slope) {
  const auto terms = [](const Array& b, In others) {
    const Array a = others[0], x = others[1], one = ones_like(x);
    const auto numerator = [=](const Array& n) {
      const Array m = floor(n / 2.0), high = (a + (n - 1.0)) * (a + n);
      return where(is_odd(n), -(a + m) * (a + b + m) * x / high, m * (b - m) * x / high);
    };
    return Fraction{one, numerator, [=](const Array&) { return one; }};
  };
  return 1.0 / value_of_fraction(going, terms, b, {a, x}, with_slope);
}

// Where the value follows from the edges of what a, b and x may be.
struct BetaEdges {
  BetaEdges(const Array& a, const Array& b, const Array& x) {
    const Array wrong = !((a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0));
    const Array low = (a == 0.0) | (b == infinity), high = (b == 0.0) | (a == infinity);  // low: all is at 0
    is_nan = wrong | (low & high);
    is_zero = ((x == 0.0) & !low) | (high & (x < 1.0)) | (low & (x == 0.0));
    is_one = (low & (x > 0.0)) | (x == 1.0);
  }
  Array none() const { return !(is_nan | is_zero | is_one); }
  Array is_nan, is_zero, is_one;
};

Array beta_part(const Array& a, const Array& b, const Array& x, bool with_slope) {
  const BetaEdges edges(a, b, x);
  const Array going = edges.none(), p = where(going, a, 1.0), q = where(going, b, 1.0), u = where(going, x, 0.25);
  const Array direct = u <= (p + 1.0) / (p + q + 2.0);  // there the fraction converges fast
  const Array first = where(direct, p, q), second = where(direct, q, p);
  const Array near = where(direct, u, 1.0 - u), far = where(direct, 1.0 - u, u);
  const Array made =
      times_beta_factor(beta_fraction(going, first, second, near, with_slope) / first, first, second, near, far);
  return where(edges.is_nan, nan, where(edges.is_zero, 0.0, where(edges.is_one, 1.0, where(direct, made, 1.0 - made))));
}
Array lower_beta(In in) { return beta_part(in[0], in[1], in[2], false); }
template <bool in_a>
Array beta_slope(In in) {
  const Array& x = in[2];
  const Array one = ones_like(x), zero = zeros_like(x);
  return jvp([&](Array a, Array b) { return beta_part(a, b, x, true); }, std::tuple(in[0], in[1]),
             in_a ? std::tuple(one, zero) : std::tuple(zero, one))
      .second;
}
Array beta_density(In in) {
  const Array &a = in[0], &b = in[1], &x = in[2];
  const BetaEdges edges(a, b, x);
  const Array inside = (x > 0.0) & (x < 1.0) & edges.none();
  const Array p = where(inside, a, 1.0), q = where(inside, b, 1.0), u = where(inside, x, 0.25);
  const Array made = times_beta_factor(1.0 / (u * (1.0 - u)), p, q, u, 1.0 - u);
  const Array near = where(x == 0.0, a, b), far = where(x == 0.0, b, a);
  const Array edge = where(near < 1.0, infinity, where(near == 1.0, far, 0.0));
  return where(edges.is_nan, nan, where(inside, made, edge));
}

constinit const SpecialFunction gammainc_function("gammainc", lower_part, slope_in_a, gamma_density);
constinit const SpecialFunction gammaincc_function(
    "gammaincc", upper_part, [](In in) { return -slope_in_a(in); }, [](In in) { return -gamma_density(in); });
constinit const SpecialFunction gammainc_grad_a_function("gammainc_grad_a", slope_in_a);
constinit const SpecialFunction gamma_variate_grad_function("gamma_variate_grad", slope_of_variate);
constinit const SpecialFunction betainc_function("betainc", lower_beta, beta_slope<true>, beta_slope<false>,
                                                 beta_density);

}  // namespace

Array gammainc(const Operand& a, const Operand& x) { return gammainc_function({a, x}); }
Array gammaincc(const Operand& a, const Operand& x) { return gammaincc_function({a, x}); }
Array gammainc_grad_a(const Operand& a, const Operand& x) { return gammainc_grad_a_function({a, x}); }
Array gamma_variate_grad(const Operand& a, const Operand& x) { return gamma_variate_grad_function({a, x}); }
Array betainc(const Operand& a, const Operand& b, const Operand& x) { return betainc_function({a, b, x}); }

}  // namespace tenon::special
