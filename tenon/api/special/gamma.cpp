// The gamma function and its kin.
#include "tenon/api/special/gamma.h"

#include <cmath>
#include <numbers>

#include "tenon/api/loops.h"
#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

// For 1 ≤ x ≤ 3 in Chebyshev's polynomials of x - 2: log Γ(x) / ((x - 1)(x - 2)), and ψ(x) / (x - its zero); the terms
// above 2e-18, from values at the polynomials' zeros to 40 digits.
constexpr double terms_of_log_gamma[] = {
    0.44148902545501423,    -0.11119580321752523,    0.01951044826068884,    -0.003922461463025264,
    0.0008478989895953857,  -0.00019153855341365593, 4.454470184975607e-05,  -1.05728743735943e-05,
    2.5474336873408417e-06, -6.208535880776316e-07,  1.5268677399071546e-07, -3.782637660291326e-08,
    9.428100823624284e-09,  -2.361999702184645e-09,  5.943541905817546e-10,  -1.501312977072867e-10,
    3.8050196458110534e-11, -9.672485299656325e-12,  2.465348198355661e-12,  -6.298868140791711e-13,
    1.6128460030283787e-13, -4.137949206814042e-14,  1.0635701227757898e-14, -2.7382420786652826e-15,
    7.060670507214892e-16,  -1.8232177141662118e-16, 4.714169006756272e-17,  -1.2204107319639856e-17,
    3.1630451661790255e-18,
};
constexpr double terms_of_digamma[] = {
    0.8508141002274594,     -0.30691795316595705,    0.06960086856205178,    -0.01712297234345182,
    0.004374961886424303,   -0.0011401796377915106,  0.00030046127392236794, -7.969172661686522e-05,
    2.1218853925722328e-05, -5.6631596935365925e-06, 1.5136717505341737e-06, -4.0495026233355134e-07,
    1.083979923064392e-07,  -2.9026750711369042e-08, 7.774554697983642e-09,  -2.082649195692377e-09,
    5.579524084715322e-10,  -1.4948718863979587e-10, 4.005228073341035e-11,  -1.0731515178725395e-11,
    2.8754217843517632e-12, -7.704533926086572e-13,  2.0644004026236004e-13, -5.53150434659318e-14,
    1.482155285389004e-14,  -3.971411389284323e-15,  1.0641344625722717e-15, -2.8513362471718133e-16,
    7.640126526131413e-17,  -2.047164716811876e-17,  5.485359583436558e-18,
};
constexpr double zero_of_digamma[] = {1.4616321449683622, 9.549995429965697e-17};  // their sum

// For x ≥ 1 in Chebyshev's polynomials of 2/x - 1: x times what Stirling's formula leaves of log Γ(x), by
// tools/chebyshev.py.
constexpr double terms_of_rest[] = {
    0.0824391166213758,      -0.0011586014333953318,  -0.00024206338649436504, 2.3096481805266552e-05,
    2.8126538306420855e-07,  -4.271982369179674e-07,  6.753795989800755e-08,   -1.6742216909283222e-09,
    -1.9048823183699345e-09, 5.616082398566717e-10,   -7.497881765282662e-11,  -4.862696975428917e-12,
    5.722878454768195e-12,   -1.7224915130168885e-12, 2.713055272633209e-13,   1.2848926024838206e-14,
    -2.5096960115971088e-14, 9.641545602098506e-15,   -2.191189563394941e-15,  1.711033323196238e-16,
    1.158073767695586e-16,   -7.186798295952593e-17,  2.4415184032977974e-17,  -5.191233070685366e-18};

// Bernoulli's numbers B₂, B₄, …: of the series for large x.
constexpr double bernoulli_numbers[] = {1. / 6,  -1. / 30,     1. / 42, -1. / 30,
                                        5. / 66, -691. / 2730, 7. / 6,  -3617. / 510};
constexpr std::size_t count = std::size(bernoulli_numbers);
constexpr double large = 10;

// For 0 < x < 10: y in [1, 3), x itself or 1 more where it is smaller; and the numbers y, y + 1, … below x. Those that
// there are not are 1, and false beside them.
struct BroughtNear {
  struct Passed {
    Array number, there;
  };
  explicit BroughtNear(const Array& x) : y(where(x < 1.0, x + 1.0, x)) {
    for (int i = 0; i < static_cast<int>(large) - 2; ++i) {
      const Array far = y >= 3.0;
      y = where(far, y - 1.0, y);
      passed.push_back({where(far, y, 1.0), far});
    }
  }
  Array y;
  std::vector<Passed> passed;
};

// Σ weights[k] / x^(2k + power), the last term first.
Array series(const Array& x, int power, std::span<const double> weights) {
  const Array inverse = 1.0 / (x * x);
  Array made = zeros_like(x);
  for (std::size_t k = weights.size(); k-- > 0;) made = made * inverse + weights[k];
  return made * (power == 2 ? inverse : 1.0 / x);
}
// Where x itself is not positive, a formula's argument: 1 - x, but from -1 down -x, which does not round.
Array reflected_near(const Array& x) { return (x <= 0.0) & (x > -1.0); }
// By two formulas, for positive numbers below 10 and beyond.
template <class Near, class Beyond>
Array of_kinds(const Array& x, Near near, Beyond beyond) {
  const Array size = where(reflected_near(x), 1.0 - x, abs(x)), far = size >= large;
  return where(far, beyond(where(far, size, large)), near(where(far, 1.0, size)));
}

// π times the distance to the nearest integer.
Array angle(const Array& x) { return pi * (x - round(x)); }

// log Γ(x) of 0 < x < 10: that of y in [1, 3), and the product of the numbers between.
struct NearGamma {
  explicit NearGamma(const Array& x) : small(x < 1.0) {
    const BroughtNear brought(x);
    const Array& y = brought.y;
    product = brought.passed[0].number;
    for (std::size_t i = 1; i < brought.passed.size(); ++i) product = product * brought.passed[i].number;
    log_of_y = log_gamma_from_one(where(small, x, y - 1.0));  // where x is small y - 1 is x, exactly
  }
  Array small, product, log_of_y;
};
// Stirling's formula, and what it leaves of log Γ(x) for x ≥ 10.
Array stirling(const Array& x) { return (x - 0.5) * log(x) - x + 0.5 * std::log(2 * pi); }
Array rest_beyond(const Array& x) { return series(x, 1, stirling_weights()); }
Array log_gamma_beyond(const Array& x) { return stirling(x) + rest_beyond(x); }

Array log_gamma(In in) {
  const Array& x = in[0];
  const auto near = [](const Array& x) {
    const NearGamma g(x);
    return g.log_of_y + where(g.small, -log(where(g.small, x, 1.0)), log(g.product));
  };
  const Array positive = x > 0.0, made = of_kinds(x, near, log_gamma_beyond);
  // log Γ(x) = log(π / |sin πx|) - log Γ(1 - x), Γ(1 - x) = -x Γ(-x)
  const Array sine = abs(sin(angle(x)));
  const Array pole = (sine == 0.0) & !positive;  // as all large negative numbers, which are integers
  return where(
      pole | (abs(x) == infinity), infinity,
      where(positive, made, std::log(pi) - log(where(pole, 1.0, sine * where(reflected_near(x), 1.0, abs(x)))) - made));
}

// In two factors, each of which is finite where their inverse is a normal number. Beyond, by Stirling's formula with
// the power in two: of its logarithm the digits before the point would be lost.
Array gamma_value(In in) {
  const Array& x = in[0];
  const Array usual = where(is_finite(x), x, 1.0), positive = usual > 0.0, size = abs(usual), far = size >= large;
  const NearGamma g(where(far | (size == 0.0), 1.0, size));
  const Array near = exp(g.log_of_y) * where(g.small, 1.0 / where(g.small, size, 1.0), g.product);
  const Array most = min(where(far, size, large), x.dtype() == DType::f64 ? 200.0 : 40.0);
  const Array root = pow(most, 0.5 * most - 0.25);
  const Array rest = root * exp(-most) * (std::sqrt(2 * pi) * exp(rest_beyond(most)));
  const Array first = where(far, rest, near), second = where(far, root, 1.0);
  // Γ(x) = -π / (x sin πx · Γ(-x))
  const Array sine = sin(angle(usual)) * where(is_odd(round(usual)), -1.0, 1.0);
  const Array pole = (sine == 0.0) & !positive;
  const Array reflected = where(pole, where(x == 0.0, 1.0 / x, nan),
                                pi / where(pole, 1.0, sine) / (where(pole, 1.0, size) * first) / second);
  return where(is_finite(x), where(positive, first * second, reflected), where(x == -infinity, nan, x));
}

Array log_gamma_slope(In in) {
  const Array& x = in[0];
  const auto near = [](const Array& x) {
    const BroughtNear brought(x);
    const double high = x.dtype() == DType::f64 ? zero_of_digamma[0] : static_cast<float>(zero_of_digamma[0]);
    const double low = (zero_of_digamma[0] - high) + zero_of_digamma[1];
    const Array small = x < 1.0;
    Array made = (brought.y - high - low) * chebyshev(brought.y - 2.0, terms_of_digamma) -
                 where(small, 1.0 / where(small, x, 1.0), 0.0);
    for (const auto& [number, there] : brought.passed) made = made + where(there, 1.0 / number, 0.0);
    return made;
  };
  const auto beyond = [](const Array& x) {
    std::array<double, count> weights;
    for (std::size_t k = 0; k < count; ++k) weights[k] = bernoulli_numbers[k] / static_cast<double>(2 * k + 2);
    return log(x) - 0.5 / x - series(x, 2, weights);
  };
  const Array positive = x > 0.0, made = of_kinds(x, near, beyond);
  // ψ(x) = ψ(1 - x) - π / tan πx, ψ(1 - x) = ψ(-x) - 1 / x
  const Array turned = angle(x), pole = (turned == 0.0) & !positive;
  const Array moved = where(reflected_near(x) | pole | positive, 0.0, 1.0 / where(pole, 1.0, x));
  const Array reflected = made - moved - pi / tan(where(pole | positive, 1.0, turned));
  return where(pole | (x == -infinity), nan, where(positive, made, reflected));
}

// ζ(s, q) of s > 1 and q > 0.
Array hurwitz(const Array& s, const Array& q) {
  constexpr int steps = 10;
  Array made = zeros_like(q);
  for (int k = 0; k < steps; ++k) made = made + pow(q + static_cast<double>(k), -s);
  const Array b = q + static_cast<double>(steps), last = pow(b, -s);
  made = made + pow(b, 1.0 - s) / (s - 1.0) + 0.5 * last;
  // s (s + 1) … (s + 2k - 2) / b^(2k - 1), which may overflow where the power beside it has vanished.
  Array rising = where(last == 0.0, 0.0, s / b);
  double factorial = 1;
  for (std::size_t k = 0; k < count; ++k) {
    const auto n = static_cast<double>(2 * k + 2);
    factorial *= n * (n - 1);
    made = made + bernoulli_numbers[k] / factorial * rising * last;
    rising = rising * ((s + (n - 1)) / b) * ((s + n) / b);
  }
  return made;
}

// ψ′(x) = ζ(2, x); for x < 0 it is (π / sin πx)² - ψ′(1 - x).
Array trigamma(In in) {
  const Array& x = in[0];
  const Array positive = x > 0.0, sine = sin(where(positive, 1.0, angle(x)));
  const Array made = hurwitz(ones_like(x) * 2.0, where(positive, x, 1.0 - x));
  return where(positive, made, pi * pi / (sine * sine) - made);
}

// ζ(s, q) of an integer s > 1 and q < 0, no integer. The terms are powers of r, which lies nearest to 0, of 1 + r,
// 2 + r, … and, up to their sign, of 1 - r, 2 - r, … -q.
Array below_zero(const Array& s, const Array& q) {
  const auto of_negative = [](Array s, Array q) {
    const Array r = q - round(q), turned = where(is_odd(s), -1.0, 1.0);
    const Array nearest = pow(abs(r), -s) * where(r < 0.0, turned, 1.0);
    return nearest + hurwitz(s, 1.0 + r) + turned * (hurwitz(s, 1.0 - r) - hurwitz(s, 1.0 - q));
  };
  return cond(any(q < 0.0), of_negative, [](Array, Array q) { return q; }, s, where(q < 0.0, q, -0.5));
}

Array zeta_of(In in) {
  const Array &s = in[0], &q = in[1];
  const Array more = s > 1.0, above = q > 0.0, whole = floor(q) == q;
  const Array below = more & (q < 0.0) & !whole & (floor(s) == s);
  const Array p = where(more, s, 2.0);
  const Array made =
      where(above, hurwitz(p, where(above, q, 1.0)), below_zero(where(below, p, 2.0), where(below, q, 0.5)));
  const Array pole = (s == 1.0) | (more & !above & whole);
  return where(more & (above | below), made, where(pole, infinity, nan));
}

Array polygamma_of(In in) {
  const Array &m = in[0], &x = in[1];
  const Array first = m == 0.0, order = where(first, 1.0, m);
  const Array sign = where(is_odd(order), 1.0, -1.0);
  const Array made = sign * exp(special::lgamma(order + 1.0)) * special::zeta(order + 1.0, x);
  return where(first, special::digamma(x), made);
}

constinit const SpecialFunction trigamma_function("trigamma", trigamma,
                                                  [](In x) { return special::polygamma(2.0, x[0]); });
constinit const SpecialFunction digamma_function("digamma", log_gamma_slope,
                                                 [](In x) { return trigamma_function({x[0]}); });
constinit const SpecialFunction lgamma_function("lgamma", log_gamma, [](In x) { return special::digamma(x[0]); });
constinit const SpecialFunction gamma_function("gamma", gamma_value,
                                               OfComplex{[](In x) { return exp(loggamma(x[0])); }},
                                               [](In x) { return special::gamma(x[0]) * special::digamma(x[0]); });
constinit const SpecialFunction zeta_function("zeta", zeta_of);
constinit const SpecialFunction polygamma_function("polygamma", polygamma_of);

}  // namespace

std::span<const double> stirling_weights() {
  static constexpr std::array<double, count> weights = [] {
    std::array<double, count> made{};
    for (std::size_t k = 0; k < count; ++k) {
      const auto n = static_cast<double>(2 * k + 2);
      made[k] = bernoulli_numbers[k] / (n * (n - 1));
    }
    return made;
  }();
  return weights;
}

Array stirling_rest(const Array& x) {
  const Array inverse = 1.0 / x;
  return inverse * chebyshev(2.0 * inverse - 1.0, terms_of_rest);
}

Array log_gamma_from_one(const Array& a) { return a * (a - 1.0) * chebyshev(a - 1.0, terms_of_log_gamma); }

Array lgamma(const Operand& x) { return lgamma_function({x}); }
Array gamma(const Operand& x) { return gamma_function({x}); }
Array digamma(const Operand& x) { return digamma_function({x}); }
Array polygamma(const Operand& n, const Operand& x) { return polygamma_function({n, x}); }
Array zeta(const Operand& x, const Operand& q) { return zeta_function({x, q}); }

}  // namespace tenon::special
