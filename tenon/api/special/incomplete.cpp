// The incomplete gamma and beta functions, and the derivative of gamma variates.
//
// Each is a factor that has no cancellation, by Stirling's formula and what it leaves, times a series or a continued
// fraction, which end where a term is less than rounding; of gamma's, where a is large and x next to it, by Temme's
// expansion, and the upper part where both are small by what is left of 1.
#include <cmath>
#include <span>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/special/gamma.h"
#include "tenon/api/special/iteration.h"
#include "tenon/api/tangents.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

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

// --- gamma ---
// Temme's expansion (DLMF 8.12.7): c_k(η) in powers of η, for a ≥ 200 and |x - a| ≤ 0.3 a, by tools/chebyshev.py.
constexpr double least_of_uniform = 200, farthest_of_uniform = 0.3, largest_eta = 0.34;
constexpr double uniform_gamma_0[] = {-0.3333333333333333,    0.08333333333333333,     -0.014814814814814815,
                                      0.0011574074074074073,  0.0003527336860670194,   -0.0001787551440329218,
                                      3.919263178522438e-05,  -2.185448510679992e-06,  -1.85406221071516e-06,
                                      8.296711340953087e-07,  -1.7665952736826078e-07, 6.707853543401498e-09,
                                      1.0261809784240309e-08, -4.382036018453353e-09,  9.14769958223679e-10};
constexpr double uniform_gamma_1[] = {-0.001851851851851852,   -0.003472222222222222,  0.0026455026455026454,
                                      -0.0009902263374485596,  0.00020576131687242798, -4.018775720164609e-07,
                                      -1.8098550334489977e-05, 7.64916091608111e-06,   -1.6120900894563446e-06,
                                      4.647127802807434e-09,   1.378633446915721e-07,  -5.752545603517705e-08,
                                      1.1951628599778148e-08};
constexpr double uniform_gamma_2[] = {0.004133597883597883,    -0.0026813271604938273, 0.0007716049382716049,
                                      2.0093878600823047e-06,  -0.0001073665322636516, 5.2923448829120125e-05,
                                      -1.2760635188618728e-05, 3.423578734096138e-08,  1.3721957309062934e-06,
                                      -6.298992138380055e-07,  1.4280614206064242e-07};
constexpr double uniform_gamma_3[] = {0.0006494341563786008,  0.00022947209362139917,  -0.0004691894943952557,
                                      0.00026772063206283885, -7.561801671883977e-05,  -2.396505113867297e-07,
                                      1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06};
constexpr double uniform_gamma_4[] = {-0.0008618882909167117,  0.0007840392217200666, -0.0002990724803031902,
                                      -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
                                      1.1375726970678419e-05};
constexpr double uniform_gamma_5[] = {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
                                      -0.00019932570516188847};
constexpr std::span<const double> uniform_gamma[] = {uniform_gamma_0, uniform_gamma_1, uniform_gamma_2,
                                                     uniform_gamma_3, uniform_gamma_4, uniform_gamma_5};

// P(a, x) of x ≤ a, and Q(a, x) beyond, are exp(-a η²/2) size.
struct Uniform {
  Uniform(const Array& a, const Array& x, const Array& upper) {
    const Array away = (x - a) / a, half = 1.0 / (2.0 + away), s = away * half;
    const Array eta =
        away * sqrt(2.0 * half - 4.0 * s * half * half * rest_of_atanh(s, 13, 6));  // η²/2 = away - log(1 + away)
    Array sum = zeros_like(a);
    for (std::size_t k = std::size(uniform_gamma); k-- > 0;) {
      std::size_t count = uniform_gamma[k].size();
      const double power = std::pow(least_of_uniform, -static_cast<double>(k));  // the largest of 1/a
      const auto counts = [&](std::size_t n) {
        return std::abs(uniform_gamma[k][n]) * std::pow(largest_eta, static_cast<double>(n)) * power >
               epsilon_of(a.dtype()) / 16;
      };
      while (count > 0 && !counts(count - 1)) --count;
      sum = sum / a;
      if (count > 0) sum = sum + polynomial(eta, uniform_gamma[k].first(count));
    }
    const Array sign = where(upper, 1.0, -1.0);
    size = 0.5 * erfcx(sign * eta * sqrt(0.5 * a)) + sign * sum / sqrt(2 * pi * a);
    exponent = -0.5 * a * eta * eta;
  }
  Array part() const { return exp(exponent) * size; }
  Array size, exponent;
};

// A function of a, and its derivative.
template <class F>
std::pair<Array, Array> with_slope_in_a(F f, const Array& a) {
  return jvp([&](Array a) { return f(a); }, std::tuple(a), std::tuple(ones_like(a)));
}

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
        upper((this->x > 1.0) & (this->x > this->a)),
        uniform((this->a >= least_of_uniform) & (abs(this->x - this->a) <= farthest_of_uniform * this->a)) {}

  // Something times the factor x^a exp(-x) / Γ(a + 1), by Stirling's formula of a, and of a + 1 where that is less than
  // 2.
  Array times_factor(const Array& other) const {
    const Array large = a > 1.0, n = where(large, a, a + 1.0), base = where(large, a, 1.0);
    const Array less = log_less(x / base, where(large, (x - a) / base, 1.0));
    const Array power = where(large, a * less, a * (less + 1.0) - (x - n));
    const Array rest = where(large, 0.5, a + 0.5) * log(n) + 0.5 * std::log(2 * pi) + stirling_rest(n);
    const Array root = exp(0.5 * (power - rest));  // which does not underflow where the product does not
    return other * root * root;
  }
  // P(a, x) / factor below, Q(a, x) / (a · factor) above, as a function of a.
  Array inner(const Array& a, bool with_slope) const {
    const Array below = usable_ & !(upper | uniform), above = usable_ & upper & !uniform;
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
    const auto [value, moved] = with_slope_in_a([&](const Array& a) { return inner(a, true); }, a);
    return moved + value * (log(x) - special::digamma(where(upper, a, a + 1.0)));
  }
  Array finished(const Array& made, const Operand& at_zero, double at_infinity) const {
    return where(wrong_, nan, where(nothing_, at_zero, where(everything_, at_infinity, made)));
  }

 private:
  Array wrong_, nothing_, everything_, usable_;

 public:
  // `upper`: where Q is computed, and not P. `uniform`: where that is by Temme's expansion, since series and fraction
  // would have many terms.
  const Array limit, a, x, upper, uniform;
};

// Q(a, x) of a < 1/2 and x ≤ 1, where 1 - P(a, x) cancels: with x^a / Γ(a + 1) = 1 + e, P is (1 + e)(1 + a s).
constexpr double largest_small = 0.5;
Array upper_of_small(In in) {
  const Array &a = in[0], &x = in[1], e = expm1(a * log(x) - log_gamma_from_one(a));
  std::vector<double> factorials{1};
  const auto last = [&] { return static_cast<double>(factorials.size()); };
  while (factorials.back() * last() < 16 / epsilon_of(a.dtype())) factorials.push_back(factorials.back() * last());
  Array terms = zeros_like(a);  // s = Σ (-x)ⁿ / (n! (a + n)), n ≥ 1, is -x times these
  for (std::size_t n = factorials.size(); --n > 0;)
    terms = 1.0 / (factorials[n] * (a + static_cast<double>(n))) - x * terms;
  return (1.0 + e) * (a * (x * terms)) - e;
}

// P(a, x), or Q(a, x).
Array part(const Array& a, const Array& x, bool above) {
  const Gamma g(a, x);
  const Array usual = g.times_factor(g.inner(g.a, false) * where(g.upper, g.a, 1.0));
  const auto near = [](In of) { return Uniform(of[0], of[1], of[1] > of[0]).part(); };
  const Array size = where_seldom(g.uniform, near, usual, {g.a, g.x});
  Array made = where(above ? g.upper : !g.upper, size, 1.0 - size);
  if (above) made = where_seldom((g.a < largest_small) & (g.x <= 1.0), upper_of_small, made, {g.a, g.x});
  made = g.finished(made, above ? 1.0 : 0.0, above ? 0.0 : 1.0);
  const Array at_infinity = where((a == infinity) & is_finite(x) & !(x < 0.0), above ? 1.0 : 0.0, made);
  return where(g.limit, above ? 0.0 : 1.0, at_infinity);
}
Array lower_part(In in) { return part(in[0], in[1], false); }
Array upper_part(In in) { return part(in[0], in[1], true); }

Array slope_in_a(In in) {
  const Gamma g(in[0], in[1]);
  const Array usual = g.times_factor(g.slope() * where(g.upper, -g.a, 1.0));
  const auto near = [](In of) {
    const Array upper = of[1] > of[0];
    const auto part = [&](const Array& a) { return Uniform(a, of[1], upper).part(); };
    return with_slope_in_a(part, of[0]).second * where(upper, -1.0, 1.0);
  };
  return g.finished(where_seldom(g.uniform, near, usual, {g.a, g.x}), 0.0, 0.0);
}
Array slope_of_variate(In in) {
  const Gamma g(in[0], in[1]);
  const Array usual = g.slope() * g.x * where(g.upper, 1.0, -1.0 / g.a);
  // exp(exponent) is a factor of the derivative and of the density, sqrt(a / 2π) exp(exponent - rest) / x.
  const auto near = [](In of) {
    const Array &a = of[0], &x = of[1], upper = x > a;
    const auto size_of = [&](const Array& a) { return Uniform(a, x, upper).size; };
    const auto [size, moved] = with_slope_in_a(size_of, a);
    const Array slope = (moved + size * log1p((x - a) / a)) * where(upper, -1.0, 1.0);
    return -slope * x * sqrt(2 * pi / a) * exp(stirling_rest(a));
  };
  return g.finished(where_seldom(g.uniform, near, usual, {g.a, g.x}), 0.0, nan);
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
  // Of log(x · whole / n) and log(y · whole / m) what is of first order cancels where both are large.
  const Array low = -away / n, high = away / m, first = where(small_a | small_b, a * low + b * high, 0.0);
  const Array exponent = a * log_less(x * (whole / n), low) + b * log_less(y * (whole / m), high) + (first - rest);
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
