// The hypergeometric functions ₁F₁ and ₂F₁ of real numbers: by their series, where these converge fast and without
// cancellation after Kummer's, Pfaff's or Euler's transformation, and by those about infinity and 1.
#include <cmath>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/special/iteration.h"
#include "tenon/api/tangents.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

// 1 / Γ(x), which is 0 at Γ's poles.
Array one_over_gamma(const Array& x) {
  const Array pole = is_pole(x), y = where(pole, 1.0, x);
  return where(pole, 0.0, gammasgn(y) * exp(-lgamma(y)));
}

// The sum of a series, and the magnitude of its largest term.
struct Sum {
  Array value, largest;
};
// Whether the terms of a sum cancel: more than five bits of it are lost, or all are.
Array cancels(const Sum& sum) { return !(sum.largest <= 32.0 * abs(sum.value)); }

// Σ (p)_k … / (q)_k … x^k, where `going`: the ratio of a term to the one before it is ratio(k). A derivative of a term
// may be there where the term is not: `with_slope` terms go on as far as those of parameters halfway between integers
// do.
Sum hypergeometric_series(const Array& going, const std::vector<Array>& above, const std::vector<Array>& below,
                          const Array& x, bool with_slope) {
  const double rounding = epsilon_of(x.dtype()) / 64;
  Arrays operands{x};
  operands.insert(operands.end(), above.begin(), above.end());
  operands.insert(operands.end(), below.begin(), below.end());
  const auto step = [&](const Arrays& carry, const Array& count, In of) {
    const In above_here = of.subspan(1, above.size()), below_here = of.subspan(1 + above.size());
    Array ratio = of[0] / count, bound = stop_gradient(ratio), rises(Scalar(false));
    for (const Array& p : above_here) {
      ratio = ratio * (p + (count - 1.0));
      bound = bound * (floor(stop_gradient(p)) + 0.5 + (count - 1.0));
      rises = rises | (p + count < 0.0);  // the factor shall be past its least
    }
    for (const Array& q : below_here) {
      const Array divisor = q + (count - 1.0);
      const Array factor = 1.0 / where(divisor == 0.0, 1.0, divisor);  // 0 where a sum has ended
      ratio = ratio * factor;
      bound = bound * stop_gradient(factor);
      rises = rises | (q + count < 0.0);
    }
    const Array term = carry[0] * ratio, total = carry[1] + term, limit = carry[2] * bound;
    const Array size = with_slope ? abs(limit) : abs(term), tolerance = abs(total) * rounding;
    return Step{{term, total, limit, max(carry[3], abs(stop_gradient(term)))},
                (size > tolerance) | (rises & (size > 0.0))};
  };
  const Array one = ones_like(x);
  const Arrays made = until_done(going, step, {one, one, one, one}, operands);
  return {made[1], made[3]};
}

// --- ₁F₁ ---
// M(a) where `going`, of a < 0, from M(f + 1) and M(f) of an f = a + n, by the recurrence in a: it keeps the digits
// that the alternating terms of the series cancel. Abramowitz and Stegun 13.4.1. It does not lead past a = b.
Array kummer_below(const Array& going, const Array& a, const Array& b, const Array& x) {
  const Array least = a - floor(a), meets = (b > a) & (b <= least) & (floor(least - b) == least - b);
  const Array from = where(meets, b - 1.0, least), steps = from - a;
  const Array before = hypergeometric_series(going, {from + 1.0}, {b}, x, false).value;
  const Array first = hypergeometric_series(going, {from}, {b}, x, false).value;
  const auto step = [](const Arrays& carry, const Array& count, In of) {
    const Array &from = of[0], &b = of[1], &x = of[2], &steps = of[3], a = from - (count - 1.0);
    const Array next = (a * carry[0] - (2.0 * a - b + x) * carry[1]) / (b - a);
    return Step{{carry[1], next}, count < steps};
  };
  return until_done(going & (steps > 0.0), step, {before, first}, {from, b, x, steps})[1];
}

// Γ(b) / Γ(b - a) (-x)^-a Σ (a)_k (a - b + 1)_k / k! (-x)^-k of large negative x, as far as terms fall.
Array kummer_far(const Array& going, const Array& a, const Array& b, const Array& x) {
  const double rounding = epsilon_of(x.dtype()) / 64;
  const Array y = -1.0 / x;
  const auto step = [&](const Arrays& carry, const Array& count, In of) {
    const Array &a = of[0], &b = of[1], &y = of[2];
    const Array term = carry[0] * ((a + (count - 1.0)) * (a - b + count) * y / count);
    const Array total = carry[1] + term;
    return Step{{term, total}, (abs(term) < abs(carry[0])) & (abs(term) > abs(total) * rounding)};
  };
  const Array sum = until_done(going, step, {ones_like(x), ones_like(x)}, {a, b, y})[1];
  const Array rest = b - a, sign = gammasgn(b) * gammasgn(rest);
  return sign * exp(lgamma(b) - lgamma(rest) - a * log(-x)) * sum;
}

Array kummer(const Array& a, const Array& b, const Array& x, bool with_slope) {
  const Array polynomial = is_pole(a), ended = polynomial & (a >= b), undefined = is_pole(b) & !ended;
  const Array wrong = is_nan(a) | is_nan(b) | is_nan(x), usual = is_finite(x) & !(undefined | wrong);
  const Array rest = b - a, turned = usual & (x < 0.0) & !polynomial;
  const Array slow = 4.0 * (1.0 + abs(a)) * (1.0 + abs(a - b + 1.0));
  const Array far = turned & (x < -50.0) & (-x > slow) & !is_pole(rest), near = usual & !far;
  const Array turns = near & turned;
  const Array p = where(near, where(turns, rest, a), 0.5), q = where(near, b, 1.0), y = where(near, abs(x), 0.5);
  const Array signed_y = where(near & !turned, x, y);
  const Sum series = hypergeometric_series(near, {p}, {q}, signed_y, with_slope);
  Array direct = series.value;
  if (!with_slope) {
    const Array lost = near & (p < 0.0) & cancels(series);
    const auto safe = [&](const Array& of, double otherwise) { return where(lost, of, otherwise); };
    direct = where(lost, kummer_below(lost, safe(p, -0.5), safe(q, 1.5), safe(signed_y, 0.5)), direct);
  }
  const Array beyond = kummer_far(far, where(far, a, 0.5), where(far, b, 1.0), where(far, x, -100.0));
  const Array made = where(far, beyond, where(turns, exp(where(turns, x, 0.0)) * direct, direct));
  return where(usual, made, where(wrong, nan, where(undefined | (x > 0.0), infinity, where(a > 0.0, 0.0, nan))));
}
Array kummer_of(In in) { return kummer(in[0], in[1], in[2], false); }

// The derivative of f(…, true) in the argument numbered `which`.
template <std::size_t which, class F>
Array slope_of_argument(F f, In in) {
  std::vector<Array> x(in.begin(), in.end());
  return jvp(
             [&](Array t) {
               x[which] = t;
               return f(x);
             },
             std::tuple(in[which]), std::tuple(ones_like(in[which])))
      .second;
}
template <std::size_t which>
Array kummer_slope(In in) {
  return slope_of_argument<which>([](const Arrays& x) { return kummer(x[0], x[1], x[2], true); }, in);
}

// --- ₂F₁ ---
// Γ(c) Γ(d) / (Γ(p) Γ(q)), by logarithms where a part of it overflows.
Array gamma_quotient(const Array& c, const Array& d, const Array& p, const Array& q) {
  const double most = c.dtype() == DType::f64 ? 170.0 : 34.0;
  const Array large = max(max(abs(c), abs(d)), max(abs(p), abs(q))) > most;
  const auto plain = [&](const Array& x) { return where(large, 1.0, x); };
  const Array made = gamma(plain(c)) * gamma(plain(d)) * one_over_gamma(plain(p)) * one_over_gamma(plain(q));
  const auto by_logarithms = [](In of) {
    const Array ends = is_pole(of[2]) | is_pole(of[3]);
    const auto safe = [&](const Array& x) { return where(ends, 1.0, x); };
    const Array sign = gammasgn(of[0]) * gammasgn(of[1]) * gammasgn(safe(of[2])) * gammasgn(safe(of[3]));
    const Array size = lgamma(of[0]) + lgamma(of[1]) - lgamma(safe(of[2])) - lgamma(safe(of[3]));
    return where(ends, 0.0, sign * exp(size));
  };
  return where_seldom(large, by_logarithms, made, {c, d, p, q});
}
// F(-n, b; c; x) of n = 1, 2, …, where `going`, by the recurrence in n: it keeps the digits that the alternating terms
// of the polynomial cancel. Abramowitz and Stegun 15.2.10.
Array gauss_polynomial(const Array& going, const Array& n, const Array& b, const Array& c, const Array& x) {
  const auto step = [](const Arrays& carry, const Array& count, In of) {
    const Array &n = of[0], &b = of[1], &c = of[2], &x = of[3], done = count - 1.0;
    const Array next = (done * (1.0 - x) * -carry[0] + (2.0 * done + c - (b + done) * x) * carry[1]) / (c + done);
    return Step{{carry[1], next}, count < n};
  };
  const Array one = ones_like(x);
  return until_done(going, step, {one, one}, {n, b, c, x})[1];
}

// Of x near 1, where d = c - a - b is no integer: Abramowitz and Stegun 15.3.6.
Array gauss_about_1(const Array& going, const Array& a, const Array& b, const Array& c, const Array& rest,
                    bool with_slope) {
  const Array d = c - a - b;
  const Array first = hypergeometric_series(going, {a, b}, {1.0 - d}, rest, with_slope).value;
  const Array second = hypergeometric_series(going, {c - a, c - b}, {1.0 + d}, rest, with_slope).value;
  return gamma_quotient(c, d, c - a, c - b) * first + exp(d * log(rest)) * gamma_quotient(c, -d, a, b) * second;
}
// Where d is an integer m ≥ 0: Abramowitz and Stegun 15.3.10 and 15.3.11. All factors after the first m terms have a
// logarithm.
Array gauss_with_logarithm(const Array& going, const Array& a, const Array& b, const Array& m, const Array& rest) {
  const double rounding = epsilon_of(rest.dtype()) / 64;
  const Array c = a + b + m, one = ones_like(rest);
  // Σ (a)_n (b)_n / (n! (1 - m)_n) (1 - x)^n of n < m
  const auto finite = [](const Arrays& carry, const Array& count, In of) {
    const Array &a = of[0], &b = of[1], &m = of[2], &rest = of[3], n = count - 1.0,
                factor = where(n + 1.0 < m, n + 1.0 - m, 1.0);
    const Array term = carry[0] * ((a + n) * (b + n) / ((n + 1.0) * factor)) * rest;
    return Step{{term, carry[1] + term}, count + 1.0 < m};
  };
  const Array head = until_done(going & (m > 1.0), finite, {one, one}, {a, b, m, rest})[1];
  // Σ (a + m)_n (b + m)_n / (n! (n + m)!) (1 - x)^n (log(1 - x) - ψ(n + 1) - ψ(n + m + 1) + ψ(a + m + n) + ψ(b + m +
  // n))
  const auto endless = [&](const Arrays& carry, const Array& count, In of) {
    const Array &a = of[0], &b = of[1], &m = of[2], &rest = of[3], n = count - 1.0, p = a + m + n, q = b + m + n;
    const Array inner = carry[2] + (1.0 / p + 1.0 / q - 1.0 / count - 1.0 / (count + m));
    const Array term = carry[0] * (p * q / (count * (count + m))) * rest, part = term * inner;
    const Array total = carry[1] + part;
    return Step{{term, total, inner}, abs(part) + abs(term) > abs(total) * rounding};
  };
  const Array inner = log(rest) + std::numbers::egamma - digamma(m + 1.0) + digamma(a + m) + digamma(b + m);
  const Array tail = until_done(going, endless, {one, inner, inner}, {a, b, m, rest})[1];
  const Array gamma_c = gamma(c), some = m > 0.0, order = where(some, m, 1.0);
  const Array of_head = where(some, gamma(order) * one_over_gamma(a + m) * one_over_gamma(b + m) * head, 0.0);
  const Array power = exp(m * log(rest)) * where(is_odd(m), 1.0, -1.0);  // -(x - 1)^m
  return gamma_c * (of_head + power * one_over_gamma(m + 1.0) * one_over_gamma(a) * one_over_gamma(b) * tail);
}

// Whether no term of the series is negative and parameters are large: the series cancels nothing then, as others do. It
// takes about so many terms.
Array is_steady(const Array& a, const Array& b, const Array& c, const Array& x, const Array& rest) {
  return (min(a, b) > 0.0) & (c > 0.0) & (max(max(a, b), 0.2 * c) > 8.0) & ((a + b + 40.0) * x < 2e4 * rest);
}
// Of 0 ≤ x < 1, where the parameters are none of Γ's poles.
Array gauss_inside(const Array& going, const Array& a, const Array& b, const Array& c, const Array& x,
                   const Array& rest, bool with_slope) {
  const Array d = c - a - b, whole = round(d), near = going & ((x <= 0.75) | is_steady(a, b, c, x, rest));
  const Array integer = abs(d - whole) < 16.0 * epsilon_of(x.dtype()) * max(abs(c), 1.0);
  // With a or b near one of Γ's poles but for rounding, or d < 0, Euler's transformation comes first.
  const Array euler = going & !near & integer & (whole < 0.0);
  const Array p = where(euler, c - a, a), q = where(euler, c - b, b);
  const Array logs = going & !near & integer & !(is_pole(p) | is_pole(q)), split = going & !near & !integer;
  const Array safe_rest = where(near, 0.25, where(going, rest, 0.25));
  const Array series_going = near | (going & !logs & !split);
  const Array direct = hypergeometric_series(series_going, {where(series_going, p, 0.5), where(series_going, q, 0.5)},
                                             {where(series_going, c, 1.5)}, where(series_going, x, 0.25), with_slope)
                           .value;
  const Array with_logs = gauss_with_logarithm(logs, where(logs, p, 0.5), where(logs, q, 0.5),
                                               where(logs, abs(whole), 1.0), where(logs, rest, 0.25));
  const Array about_1 = gauss_about_1(split, where(split, a, 0.5), where(split, b, 0.5), where(split, c, 1.3),
                                      where(split, rest, 0.25), with_slope);
  const Array made = where(split, about_1, where(logs, with_logs, direct));
  return where(euler, exp(where(euler, d, 0.0) * log(safe_rest)) * made, made);
}

Array gauss(const Array& a, const Array& b, const Array& c, const Array& x, bool with_slope) {
  const Array pole = is_pole(c), late_a = pole & (a < c), late_b = pole & (b < c);
  const Array finite_a = is_pole(a) & !late_a, finite_b = is_pole(b) & !late_b;
  const Array polynomial = finite_a | finite_b, wrong = is_nan(a) | is_nan(b) | is_nan(c) | is_nan(x);
  const Array undefined = pole & !polynomial & (x != 0.0);
  const Array d = c - a - b, ends = is_pole(c - a) | is_pole(c - b);  // after Euler's transformation
  const Array real_beyond = (x > 1.0) & ends & (floor(d) == d);
  const Array usual = ((x < 1.0) | polynomial | real_beyond) & is_finite(x) & !(wrong | undefined);
  const Array low = usual & !polynomial & (x < 0.0);  // Pfaff: (1 - x)^-a F(a, c - b; c; x / (x - 1))
  const Array safe = where(usual, x, 0.25), inside = where(low, safe / (safe - 1.0), safe);
  const Array rest = where(low, 1.0 / (1.0 - where(low, safe, 0.0)), 1.0 - safe);
  // By the smaller of a and b, which grows the least; by the larger where that alone has no negative terms.
  const Array least = min(a, b), most = max(a, b), by_most = (c < most) & is_steady(most, c - least, c, inside, rest);
  const Array swapped = low & ((b < a) != by_most), first = where(swapped, b, a), second = where(swapped, a, b);
  const Array q = where(low, c - second, second);
  const Array ends_by_euler = (is_pole(c - first) | is_pole(c - q)) & !is_steady(first, q, c, inside, rest);
  const Array short_sum = usual & (polynomial | is_pole(q) | ends_by_euler);
  const Array long_sum = usual & !short_sum;
  // A polynomial, or one times a power after Euler's transformation.
  const Array euler = short_sum & !polynomial & !is_pole(q) & ends_by_euler;
  const Array p_short = where(euler, c - first, first), q_short = where(euler, c - q, q);
  const Sum sum = hypergeometric_series(short_sum, {where(short_sum, p_short, 0.5), where(short_sum, q_short, 0.5)},
                                        {where(short_sum, c, 1.5)}, where(short_sum, inside, 0.25), false);
  Array made_short = sum.value;
  if (!with_slope) {
    const Array ended_p = is_pole(p_short), by_q = is_pole(q_short) & ((!ended_p) | (q_short > p_short));
    const Array n = -where(by_q, q_short, p_short), other = where(by_q, p_short, q_short);
    const Array lost = short_sum & (n > 0.0) & (ended_p | by_q) & cancels(sum);
    const auto safe_of = [&](const Array& of, double otherwise) { return where(lost, of, otherwise); };
    made_short = where(
        lost, gauss_polynomial(lost, safe_of(n, 1.0), safe_of(other, 0.5), safe_of(c, 1.5), safe_of(inside, 0.25)),
        made_short);
  }
  const Array exponent = where(euler, c - first - q, 0.0), base = where(euler, rest, 1.0);
  const Array power = exp(exponent * log(abs(base))) * where((base < 0.0) & is_odd(exponent), -1.0, 1.0);
  const Array made_long =
      gauss_inside(long_sum, where(long_sum, first, 0.5), where(long_sum, q, 0.5), where(long_sum, c, 1.3),
                   where(long_sum, inside, 0.25), where(long_sum, rest, 0.75), with_slope);
  const Array made = where(short_sum, where(euler, power * made_short, made_short), made_long);
  const Array factor = exp(where(low, first * log(rest), 0.0));
  const Array at_1 = (x == 1.0) & (d > 0.0) & !undefined;
  const Array of_1 =
      gamma_quotient(where(at_1, c, 1.0), where(at_1, d, 1.0), where(at_1, c - a, 1.0), where(at_1, c - b, 1.0));
  return where(wrong, nan,
               where(usual, factor * made, where(at_1, of_1, where(undefined | is_finite(x), infinity, nan))));
}
Array gauss_of(In in) { return gauss(in[0], in[1], in[2], in[3], false); }
template <std::size_t which>
Array gauss_slope(In in) {
  return slope_of_argument<which>([](const Arrays& x) { return gauss(x[0], x[1], x[2], x[3], true); }, in);
}

constinit const SpecialFunction hyp1f1_function("hyp1f1", kummer_of, kummer_slope<0>, kummer_slope<1>, [](In in) {
  return in[0] / in[1] * hyp1f1(in[0] + 1.0, in[1] + 1.0, in[2]);
});
constinit const SpecialFunction hyp2f1_function("hyp2f1", gauss_of, gauss_slope<0>, gauss_slope<1>, gauss_slope<2>,
                                                [](In in) {
                                                  return in[0] * in[1] / in[2] *
                                                         hyp2f1(in[0] + 1.0, in[1] + 1.0, in[2] + 1.0, in[3]);
                                                });

}  // namespace

Array hyp1f1(const Operand& a, const Operand& b, const Operand& x) { return hyp1f1_function({a, b, x}); }
Array hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& x) {
  return hyp2f1_function({a, b, c, x});
}

}  // namespace tenon::special
