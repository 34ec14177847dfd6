// What the gamma function and logarithms make: factorials, the beta function, entropies.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/special/gamma.h"
#include "tenon/api/special/iteration.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

// --- of the gamma function ---
Array sign_of_gamma(In in) {
  const Array& x = in[0];
  const Array whole = floor(x), below = x < 0.0, odd = is_odd(whole);
  const Array negative = (below & odd) | ((x == 0.0) & (1.0 / x < 0.0));
  const Array made = where((below & (x == whole)) | (x == -infinity), nan, where(negative, -1.0, 1.0));
  return where(is_nan(x), x, made);
}
// n·Γ(n), since n + 1 rounds.
Array factorial_of(In in) {
  const Array& n = in[0];
  const Array below = n < 0.0, small = n < least_normal_of(n.dtype());
  return where(below, 0.0, where(small, 1.0, n * special::gamma(where(small, 1.0, n))));
}

// Γ(z + m) / Γ(z) of positive z and z + m by Stirling's formula and what it leaves. With p = z and q = z + m, each 1
// more where it is below 1, it is
//   q^(q - p) (q/p)^p exp(p - q) sqrt(p/q) exp(rests):
// what q and q/p are rounded by has a factor of its own. Its logarithm is that of q^(q - p) and an exponent in which
// nothing cancels.
struct GammaRatio {
  GammaRatio(const Array& z, const Array& m) {
    const Array sum = z + m, low = z < 1.0, low_sum = sum < 1.0;
    p = where(low, z + 1.0, z);
    q = where(low_sum, sum + 1.0, sum);
    power = m + where(low_sum, 1.0, 0.0) - where(low, 1.0, 0.0);
    off = power - (q - p);
    rests = stirling_rest(q) - stirling_rest(p);
    passed = where(low, z, 1.0) / where(low_sum, sum, 1.0);
  }
  Array value() const {
    const Array ratio = q / p, product = ratio * p;
    const Array high = high_half(ratio), low = ratio - high, high_p = high_half(p), low_p = p - high_p;
    const Array rest_of_product = ((high * high_p - product) + high * low_p + low * high_p) + low * low_p;
    const Array small = rests + ((q - product) - rest_of_product) / ratio + (power + p) * off / q;
    // The root does not overflow where the whole does not.
    const Array root = pow(q, 0.5 * power) * pow(ratio, 0.5 * p) * exp(-0.5 * power);
    return root * (passed * rsqrt(ratio) * exp(small)) * root;
  }
  Array logarithm() const {
    const Array ratio = q / p;
    const Array exponent = p * log_less(ratio, power / p) - 0.5 * log(ratio) + rests + power * off / q;
    return power * log(q) + exponent + log(passed);
  }
  Array p, q, power, off, rests, passed;
};
Array poch_of(In in) {
  const Array &z = in[0], &m = in[1];
  const Array usual = (z > 0.0) & (z + m > 0.0) & is_finite(z + m);
  const Array from = where(usual, z, 1.0), by = where(usual, m, 1.0), made = GammaRatio(from, by).value();
  // Where the parts overflow and underflow, the whole does one of both.
  const auto beyond = [](In of) { return exp(GammaRatio(of[0], of[1]).logarithm()); };
  const Array of_usual = where_seldom(is_nan(made), beyond, made, {from, by});
  const auto elsewhere = [](In of) {
    const Array &z = of[0], &m = of[1], signs = special::gammasgn(z + m) * special::gammasgn(z);
    const Array general = signs * exp(special::lgamma(z + m) - special::lgamma(z));
    // At poles of both Γ(z) and Γ(z + m), (z)_m is (-1)^m (1 - z - m)_m; at one of Γ(z) alone, 0.
    const Array pole = is_pole(z), both = pole & is_pole(z + m);
    const Array reflected = GammaRatio(where(both, 1.0 - z - m, 1.0), where(both, m, 1.0)).value();
    return where(both, where(is_odd(where(both, m, 0.0)), -reflected, reflected), where(pole, 0.0, general));
  };
  return where(m == 0.0, 1.0, where_seldom(!usual, elsewhere, of_usual, {z, m}));
}
Array poch_in_z(In in) {
  return special::poch(in[0], in[1]) * (special::digamma(in[0] + in[1]) - special::digamma(in[0]));
}
Array poch_in_m(In in) { return special::poch(in[0], in[1]) * special::digamma(in[0] + in[1]); }

// log B(a, b) of positive numbers by Stirling's formula and what it leaves, without cancellation where they are large.
// A number below 1 gives way to 1 more: B(a, b) = B(a + 1, b) (a + b) / a.
Array log_beta_of_positive(const Array& a, const Array& b) {
  const Array least = min(a, b), most = max(a, b);
  const Array p = where(least < 1.0, least + 1.0, least), q = where(most < 1.0, most + 1.0, most), whole = p + q;
  // By parts that do not overflow where the numbers are far apart.
  const double up = std::ldexp(1, a.dtype() == DType::f64 ? 1000 : 100);
  const Array low = least < 1.0, tiny = least < 1 / std::sqrt(up), above = where(low, least + most, 1.0) / sqrt(q),
              below = where(low, least * where(tiny, up, 1.0), 1.0), passed = where(most < 1.0, (p + most) / most, 1.0);
  const Array rests = stirling_rest(p) + stirling_rest(q) - stirling_rest(whole);
  const Array last = log(above / below * passed) + where(tiny, std::log(up), 0.0);
  // Below the least normal number a share is 0.
  const Array share = p / whole, vanishes = share < 2 * least_normal_of(a.dtype());
  const auto apart = [](In of) { return log(of[0]) - log(of[1]); };
  const Array of_share = where_seldom(vanishes, apart, log(share), {p, whole});
  const Array by_stirling =
      0.5 * std::log(2 * pi) + (p - 0.5) * of_share - where(vanishes, p, q * log1p(p / q)) + last + rests;
  return where(least == 1.0, 2.0 * last, by_stirling);  // B(1, b) = 1 / b
}
// Where a number is 0 or a negative integer, n, the beta function is infinite, but (-1)^m B(1 - n - m, m) of m = 1, 2,
// … -n beside it, where what is infinite cancels.
struct BetaAtPole {
  explicit BetaAtPole(In in) {
    const Array &a = in[0], &b = in[1], first = is_pole(a);
    n = where(first, a, b);
    m = where(first, b, a);
    there = first | is_pole(b);
    const Array whole = there & is_finite(n) & is_finite(m) & (floor(m) == m) & (n + m < 1.0);
    odd = whole & is_odd(where(whole, m, 0.0));
    finite = whole & (m > 0.0);
  }
  Array n, m, there, odd, finite;
};
Array log_beta(In in) {
  const Array &a = in[0], &b = in[1];
  const Array usual = (a > 0.0) & (b > 0.0) & is_finite(a + b);
  const Array of_usual = log_beta_of_positive(where(usual, a, 1.0), where(usual, b, 1.0));
  const auto elsewhere = [](In of) {
    const BetaAtPole pole(of);
    const Array at_pole =
        where(pole.finite,
              log_beta_of_positive(where(pole.finite, 1.0 - pole.n - pole.m, 1.0), where(pole.finite, pole.m, 1.0)),
              where(is_nan(pole.m), nan, infinity));
    const Array least = min(of[0], of[1]), most = max(of[0], of[1]), whole = least + most;
    const Array both = (most > 0.0) & (whole > 0.0) & is_finite(whole);
    const GammaRatio ratio(where(both, most, 1.0), where(both, least, 1.0));
    const Array apart = special::lgamma(whole) - special::lgamma(most);
    const Array made = special::lgamma(least) - where(both, ratio.logarithm(), apart);
    const Array at_end = where(least == infinity, nan, where(least > 0.0, -infinity, infinity));
    return where(pole.there, at_pole, where((most == infinity) & !is_nan(least), at_end, made));
  };
  return where_seldom(!usual, elsewhere, of_usual, {a, b});
}
// B(a, b) of positive numbers as a product. With W = p + q, Stirling's formula of its three gamma functions is
//   sqrt(2π W / (p q)) (q/W)^q (p/W)^p exp(rests):
// of the lesser share v = q/W and of 1 - v, what v is rounded by cancels to first order, and what 1 - v is rounded by
// has a factor of its own. A number below 1 gives way to 1 more, as above.
struct BetaProduct {
  BetaProduct(const Array& a, const Array& b) {
    const Array least = min(a, b), most = max(a, b), low = least < 1.0, both = most < 1.0;
    const Array q_of = where(low, least + 1.0, least), p_of = where(both, most + 1.0, most);
    const Array q = min(q_of, p_of), p = max(q_of, p_of), whole = p + q;
    const Array share = q / whole, rest = 1.0 - share, off = (1.0 - rest) - share;
    const Array rests = stirling_rest(p) + stirling_rest(q) - stirling_rest(whole);
    front = sqrt(2 * pi * (1.0 / p + 1.0 / q)) * exp(rests + p * (off / rest));
    of_least = pow(share, q);
    of_most = pow(rest, p);
    passed = where(low, (least + most) / where(low, least, 1.0), 1.0) * where(both, (q_of + most) / most, 1.0);
  }
  Array value() const { return front * of_least * of_most * passed; }
  Array inverse() const { return 1.0 / (front * passed) / of_least / of_most; }
  Array front, of_least, of_most, passed;
};
Array beta_of(In in) {
  const auto sign = [](In of) {
    const Array &a = of[0], &b = of[1];
    const BetaAtPole pole(of);
    const Array signs = special::gammasgn(a) * special::gammasgn(b) * special::gammasgn(a + b);
    const Array positive = (a > 0.0) & (b > 0.0);
    return where(positive, 1.0, where(pole.there, where(pole.odd, -1.0, 1.0), where(is_pole(a + b), 1.0, signs)));
  };
  const Array &a = in[0], &b = in[1], usual = (a > 0.0) & (b > 0.0) & is_finite(a + b);
  const auto elsewhere = [=](In of) { return sign(of) * exp(special::betaln(of[0], of[1])); };
  return where_seldom(!usual, elsewhere, BetaProduct(where(usual, a, 1.0), where(usual, b, 1.0)).value(), {a, b});
}
template <std::size_t argument>
Array log_beta_slope(In in) {
  return special::digamma(in[argument]) - special::digamma(in[0] + in[1]);
}
template <std::size_t argument>
Array beta_slope_in(In in) {
  return special::beta(in[0], in[1]) * log_beta_slope<argument>(in);
}

// --- of logarithms ---
// x times a logarithm of y, log or log1p.
template <Array (*logarithm)(const Operand& y)>
Array times_log(In in) {
  const Array &x = in[0], &y = in[1];
  const Array zero = (x == 0.0) & !is_nan(y);
  return where(zero, 0.0, x * logarithm(where(zero, 1.0, y)));
}
Array entropy(In in) {
  const Array& x = in[0];
  const Array below = x < 0.0, usual = where(below, 1.0, x);
  return where(below, -infinity, -special::xlogy(usual, usual));
}
// log(x / y) of positive numbers, exact near 1, by one quotient and one logarithm.
Array log_of_ratio(const Array& x, const Array& y) {
  // Where x / y may underflow or overflow, the logarithm is that of x / y · 2^(±2 scaling).
  const int scaling = x.dtype() == DType::f64 ? 900 : 100;
  const double up = std::ldexp(1, scaling), down = std::ldexp(1, -scaling), added = 2 * scaling * std::numbers::ln2;
  const Array low = x<down * y, high = down * x> y;
  // Near 1 the ratio is 1 + quotient, and what that sum rounds off is added to its logarithm, by a slope of 1 / sum ≈ 2
  // - sum.
  const Array difference = x - y, near = abs(difference) < 0.5 * y;
  const Array quotient = where(low, up, where(high, down, 1.0)) * where(near, difference, x) /
                         (where(low, down, where(high, up, 1.0)) * y);
  const Array sum = where(near, 1.0 + quotient, quotient);
  const Array rest = where(near, (quotient - (sum - 1.0)) * (2.0 - sum), where(low, -added, where(high, added, 0.0)));
  return log(sum) + rest;
}
// x log(x / y) where x and y are positive, and what stands in its place elsewhere.
struct Relative {
  explicit Relative(In in)
      : x(in[0]),
        y(in[1]),
        both((x > 0.0) & (y > 0.0)),
        p(where(both, x, 1.0)),
        q(where(both, y, 1.0)),
        entropy(p * log_of_ratio(p, q)) {}
  Array or_elsewhere(const Array& made, const Operand& at_zero) const {
    const Array elsewhere = where(is_nan(x) | is_nan(y), nan, where((x == 0.0) & (y >= 0.0), at_zero, infinity));
    return where(both, made, elsewhere);
  }
  const Array x, y, both, p, q, entropy;
};
Array relative_entropy(In in) {
  const Relative r(in);
  return r.or_elsewhere(r.entropy, 0.0);
}
Array divergence(In in) {
  const Relative r(in);
  // (x - y) s + 2x (atanh s - s) of s = (x - y) / (x + y), where the terms would cancel (Loader 2000).
  const Array apart = r.p - r.q, ratio = 0.5 * apart / (0.5 * r.p + 0.5 * r.q), near = abs(ratio) < 0.5,
              s = where(near, ratio, 0.0);
  const Array series = apart * s + r.p * (2.0 * s * (s * s) * rest_of_atanh(s, 26, 12));
  return r.or_elsewhere(where(near, series, r.entropy - r.p + r.q), r.y);
}
// Near 1/2, where it is 0, by 2x - 1, which is exact.
Array logit_of(In in) {
  const Array& x = in[0];
  const Array near = abs(x - 0.5) < 0.25, middle = where(near, x, 0.5), away = middle + middle - 1.0, low = away < 0.0;
  const Array beside = log1p(abs(away) / where(low, middle, 1.0 - middle));
  const Array far = where(near, 0.25, x);
  return where(near, where(low, -beside, beside), log(far) - log1p(-far));
}

// (exp(u) - 1) / u and its derivative, by their series near 0.
Array near_exprel(const Array& u, bool slope) {
  std::array<double, 20> terms;
  double factorial = slope ? 2 : 1;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    terms[k] = (slope ? static_cast<double>(k + 1) : 1.0) / factorial;
    factorial *= static_cast<double>(k + (slope ? 3 : 2));
  }
  return polynomial(u, terms);
}
// (1 + x)^p, with what the sum is rounded by.
Array power_of_one_more(const Array& x, const Array& p) {
  const Array sum = 1.0 + x, large = abs(x) > 1.0, off = where(large, 1.0, x) - (sum - where(large, x, 1.0));
  const Array there = is_finite(sum) & (sum != 0.0) & (off != 0.0);
  return pow(sum, p) * exp(where(there, p * (off / where(there, sum, 1.0)), 0.0));
}
// (y^λ - 1) / λ, and log y of λ = 0: y is x, or 1 + x.
template <Array (*logarithm)(const Operand& x)>
Array boxcox_of(In in) {
  const Array &power = in[1], along = logarithm(in[0]);
  const Array zero = power == 0.0, u = where(zero, 0.0, power) * where(zero, 0.0, along), near = abs(u) < 1.0;
  // y^λ does not lose the digits before the point of λ log y. Of 1 + x there is a rest, too.
  const bool plus_1 = logarithm == static_cast<Array (*)(const Operand&)>(log1p);
  const Array y = where(near, 2.0, where(plus_1 ? in[0] < -1.0 : in[0] < 0.0, nan, plus_1 ? in[0] : abs(in[0])));
  const Array beyond = (plus_1 ? power_of_one_more(y, power) : pow(y, power)) - 1.0;
  const Array far = beyond / where(zero, 1.0, power);
  return where(zero, along, where(near, where(near, along, 0.0) * near_exprel(where(near, u, 0.0), false), far));
}
template <Array (*logarithm)(const Operand& x)>
Array boxcox_in_x(In in) {
  return exp((in[1] - 1.0) * logarithm(in[0]));
}
template <Array (*logarithm)(const Operand& x)>
Array boxcox_in_power(In in) {
  const Array along = logarithm(in[0]), u = in[1] * along, near = abs(u) < 1.0, far = where(near, 1.0, u);
  const Array rest = where(near, near_exprel(where(near, u, 0.0), true), ((far - 1.0) * exp(far) + 1.0) / (far * far));
  return along * along * rest;
}

// n! / (k! (n - k)!), rounded where it is an integer that the dtype has.
Array comb_of(In in) {
  const Array &n = in[0], &k = in[1];
  const Array there = (k <= n) & (n >= 0.0) & (k >= 0.0);
  const Array from = where(there, n, 0.0), chosen = where(there, k, 0.0);
  const Array made = BetaProduct(from - chosen + 1.0, chosen + 1.0).inverse() / (from + 1.0);
  const Array whole = (floor(from) == from) & (floor(chosen) == chosen) & (made < 0.05 / epsilon_of(n.dtype()));
  return where(there, where(whole, round(made), made), 0.0);
}
// 0 where there are no choices, as where more are chosen than there are.
Array comb_slope(In in, const Array& of_all, const Array& of_chosen) {
  const Array made = special::comb(in[0], in[1]);
  return where(made == 0.0, 0.0, made * (special::digamma(of_all) - special::digamma(of_chosen)));
}
Array comb_in_n(In in) { return comb_slope(in, in[0] + 1.0, in[0] - in[1] + 1.0); }
Array comb_in_k(In in) { return comb_slope(in, in[0] - in[1] + 1.0, in[1] + 1.0); }

template <Array (*logarithm)(const Operand& x)>
Array complex_boxcox(In in) {
  const Array &power = in[1], along = logarithm(in[0]), zero = power == 0.0, divisor = where(zero, 1.0, power);
  return where(zero, along, expm1(divisor * along) / divisor);
}

constinit const SpecialFunction gammasgn_function("gammasgn", sign_of_gamma);
constinit const SpecialFunction factorial_function("factorial", factorial_of, [](In x) {
  return where(x[0] < 0.0, 0.0, special::factorial(x[0]) * special::digamma(x[0] + 1.0));
});
constinit const SpecialFunction poch_function("poch", poch_of, poch_in_z, poch_in_m);
constinit const SpecialFunction betaln_function("betaln", log_beta, log_beta_slope<0>, log_beta_slope<1>);
constinit const SpecialFunction beta_function("beta", beta_of, beta_slope_in<0>, beta_slope_in<1>);
constinit const SpecialFunction xlogy_function(
    "xlogy", times_log<log>, OfComplex{times_log<log>}, [](In x) { return log(x[1]); },
    [](In x) { return x[0] / x[1]; });
constinit const SpecialFunction xlog1py_function(
    "xlog1py", times_log<log1p>, OfComplex{times_log<log1p>}, [](In x) { return log1p(x[1]); },
    [](In x) { return x[0] / (1.0 + x[1]); });
constinit const SpecialFunction entr_function("entr", entropy, [](In x) { return -log(x[0]) - 1.0; });
constinit const SpecialFunction rel_entr_function(
    "rel_entr", relative_entropy, [](In x) { return log(x[0] / x[1]) + 1.0; }, [](In x) { return -x[0] / x[1]; });
constinit const SpecialFunction kl_div_function(
    "kl_div", divergence, [](In x) { return log(x[0] / x[1]); }, [](In x) { return 1.0 - x[0] / x[1]; });
constinit const SpecialFunction logit_function("logit", logit_of,
                                               OfComplex{[](In x) { return log(x[0] / (1.0 - x[0])); }},
                                               [](In x) { return 1.0 / (x[0] * (1.0 - x[0])); });
constinit const SpecialFunction boxcox_function("boxcox", boxcox_of<log>, OfComplex{complex_boxcox<log>},
                                                boxcox_in_x<log>, boxcox_in_power<log>);
constinit const SpecialFunction boxcox1p_function("boxcox1p", boxcox_of<log1p>, OfComplex{complex_boxcox<log1p>},
                                                  boxcox_in_x<log1p>, boxcox_in_power<log1p>);
constinit const SpecialFunction comb_function("comb", comb_of, comb_in_n, comb_in_k);

}  // namespace

Array log_of_choices(const Array& n, const Array& k) { return -log1p(n) - betaln(n - k + 1.0, k + 1.0); }

Array gammasgn(const Operand& x) { return gammasgn_function({x}); }
Array factorial(const Operand& n) { return factorial_function({n}); }
Array poch(const Operand& z, const Operand& m) { return poch_function({z, m}); }
Array betaln(const Operand& a, const Operand& b) { return betaln_function({a, b}); }
Array beta(const Operand& a, const Operand& b) { return beta_function({a, b}); }
Array xlogy(const Operand& x, const Operand& y) { return xlogy_function({x, y}); }
Array xlog1py(const Operand& x, const Operand& y) { return xlog1py_function({x, y}); }
Array entr(const Operand& x) { return entr_function({x}); }
Array rel_entr(const Operand& p, const Operand& q) { return rel_entr_function({p, q}); }
Array kl_div(const Operand& p, const Operand& q) { return kl_div_function({p, q}); }
Array logit(const Operand& x) { return logit_function({x}); }

Array boxcox(const Operand& x, const Operand& lmbda) { return boxcox_function({x, lmbda}); }
Array boxcox1p(const Operand& x, const Operand& lmbda) { return boxcox1p_function({x, lmbda}); }
Array comb(const Operand& n, const Operand& k, bool repetition) {
  if (!repetition) return comb_function({n, k});
  const SourceScope place(n.where(), "comb");
  const Met met = real_operands_of_one_shape("comb", std::array{n, k});
  const Array &all = met.operands[0], &chosen = met.operands[1], none = (chosen == 0.0) & (all >= 0.0);
  return where(none, 1.0, comb_function({where(none, 1.0, all + chosen - 1.0), where(none, 0.0, chosen)}));
}

Array multigammaln(const Operand& a, std::int64_t d) {
  if (d < 1) throw ShapeError(fmt::format("multigammaln: of {} dimensions.", d), "There is one at least.");
  const SourceScope place(a.where(), "multigammaln");
  Array made = special::lgamma(a);
  for (std::int64_t j = 1; j < d; ++j) made = made + special::lgamma(a - 0.5 * static_cast<double>(j));
  return made + 0.25 * static_cast<double>(d * (d - 1)) * std::log(pi);
}

}  // namespace tenon::special
