// Special functions: their exact values by MPFR where it has them, else by series whose terms do not cancel beyond what
// 60 digits bear, and Newton's steps.
#include <cmath>
#include <limits>

#include "bench/accuracy/functions.h"

namespace accuracy {
namespace {

namespace sp = tn::special;
using boost::multiprecision::abs;
using boost::multiprecision::ceil;
using boost::multiprecision::exp;
using boost::multiprecision::expm1;
using boost::multiprecision::floor;
using boost::multiprecision::log;
using boost::multiprecision::log1p;
using boost::multiprecision::pow;
using boost::multiprecision::sqrt;

using Mpfr = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
Exact by(Mpfr f, const Exact& x) {
  Exact y;
  f(y.backend().data(), x.backend().data(), MPFR_RNDN);
  return y;
}
const Exact pi = by([](mpfr_ptr y, mpfr_srcptr, mpfr_rnd_t r) { return mpfr_const_pi(y, r); }, 0);
const Exact nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
const Exact tiny = boost::multiprecision::ldexp(Exact(1), -200);

Exact erfc(const Exact& x) { return by(mpfr_erfc, x); }
// Beyond 200 the value is out of every dtype.
Exact gamma(const Exact& x) {
  if (x > 200) return std::numeric_limits<double>::infinity();
  return x < -200 && floor(x) != x ? Exact(0) : by(mpfr_gamma, x);
}
Exact lgamma(const Exact& x) {
  Exact y;
  int sign;
  mpfr_lgamma(y.backend().data(), &sign, x.backend().data(), MPFR_RNDN);
  return y;
}
bool whole(const Exact& x) { return floor(x) == x; }

Exact digamma(const Exact& x) { return x == 0 || x == -infinity ? nan : by(mpfr_digamma, x); }

// B_2k / (2k)! = ±2 ζ(2k) / (2π)^2k.
const std::vector<Exact>& bernoulli_over_factorial() {
  static const std::vector<Exact> made = [] {
    std::vector<Exact> all(60);
    for (unsigned k = 1; k < all.size(); ++k) {
      Exact z;
      mpfr_zeta_ui(z.backend().data(), 2 * k, MPFR_RNDN);
      all[k] = (k % 2 == 1 ? 2 : -2) * z / pow(2 * pi, 2 * static_cast<int>(k));
    }
    return all;
  }();
  return made;
}
// ζ(s, q) by Euler's and Maclaurin's formula; of negative q the terms below zero first.
Exact zeta(const Exact& s, Exact q) {
  if (isnan(s) || isnan(q) || s < 1) return nan;
  if (s == 1 || (q <= 0 && whole(q))) return infinity;
  if (q < 0 && !whole(s)) return nan;
  Exact sum = 0;
  const auto power = [&](const Exact& x, const Exact& y) { return pow(x, y); };
  for (; q < 0; q += 1) sum += power(q, -s);
  const int steps = 40 + static_cast<int>(s > 1000 ? Exact(1000) : s);
  if (q > 1e15) return sum + power(q, 1 - s) / (s - 1) + power(q, -s) / 2 + s * power(q, -s - 1) / 12;
  for (int k = 0; k < steps; ++k) sum += power(q + k, -s);
  const Exact b = q + steps;
  sum += power(b, 1 - s) / (s - 1) + power(b, -s) / 2;
  Exact rising = s * power(b, -s - 1);
  for (int k = 1; k < 50; ++k) {
    sum += bernoulli_over_factorial()[static_cast<std::size_t>(k)] * rising;
    rising *= (s + (2 * k - 1)) * (s + 2 * k) / (b * b);
  }
  return sum;
}
Exact polygamma(const Exact& m, const Exact& x) {
  if (m == 0) return digamma(x);
  return (whole((m + 1) / 2) ? 1 : -1) * gamma(m + 1) * zeta(m + 1, x);
}

// P(a, x) by its series, and Q(a, x) by MPFR where x > a.
Exact gamma_part(const Exact& a, const Exact& x, bool upper) {
  if (!(a >= 0) || !(x >= 0)) return nan;
  if (x == 0) return upper ? 1 : 0;
  if (a == 0 || x == infinity) return upper ? 0 : 1;
  if (x > a + 1) {
    Exact q;
    mpfr_gamma_inc(q.backend().data(), a.backend().data(), x.backend().data(), MPFR_RNDN);
    q /= by(mpfr_gamma, a);
    return upper ? q : Exact(1 - q);
  }
  Exact term = 1, sum = 1;
  for (int n = 1; term > sum * tiny; ++n) term *= x / (a + n), sum += term;
  const Exact p = sum * exp(a * log(x) - x - lgamma(a + 1));
  return upper ? Exact(1 - p) : p;
}
// I(a, b, x) where that is at most about half: x^a (1 - x)^b / (a B) Σ (a + b)_n / (a + 1)_n x^n.
Exact beta_series(const Exact& a, const Exact& b, const Exact& x, const Exact& y) {
  Exact term = 1, sum = 1;
  for (int n = 0; n < 50 || term > sum * tiny; ++n) term *= (a + b + n) / (a + 1 + n) * x, sum += term;
  return sum * exp(a * log(x) + b * log(y) + lgamma(a + b) - lgamma(a) - lgamma(b)) / a;
}
Exact beta_part(const Exact& a, const Exact& b, const Exact& x) {
  if (!(x >= 0) || x > 1) return nan;
  if (x == 0 || x == 1) return x;
  const Exact y = 1 - x;
  return x <= (a + 1) / (a + b + 2) ? beta_series(a, b, x, y) : Exact(1 - beta_series(b, a, y, x));
}

// exp(-|x|) I_v(x): the series in x²/4, or the asymptotic one.
Exact scaled_bessel(int v, const Exact& x) {
  const Exact size = abs(x);
  if (isnan(x)) return nan;
  if (size == infinity) return 0;
  Exact term, sum;
  if (size > 300) {
    term = sum = 1;
    for (int k = 1; k < 100; ++k) {
      term *= -(Exact(4 * v * v) - (2 * k - 1) * (2 * k - 1)) / (8 * k * size);
      sum += term;
      if (abs(term) < tiny) break;
    }
    sum /= sqrt(2 * pi * size);
  } else {
    const Exact square = size * size / 4;
    term = sum = v == 0 ? Exact(1) : Exact(size / 2);
    for (int k = 1; k < 40 || term > sum * tiny; ++k) term *= square / (Exact(k) * (k + v)), sum += term;
    sum *= exp(-size);
  }
  return v == 1 && x < 0 ? Exact(-sum) : sum;
}

// exp(x²) erfc(x).
Exact erfcx(const Exact& x) {
  if (x == infinity) return 0;
  if (x < 1e3) return exp(x * x) * erfc(x);
  Exact term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    term *= -(2 * k - 1) / (2 * x * x);
    sum += term;
    if (abs(term) < tiny) break;
  }
  return sum / (x * sqrt(pi));
}
Exact log_ndtr(const Exact& x) {
  const Exact scaled = x / sqrt(Exact(2));
  if (x > 0) return log1p(-erfc(scaled) / 2);
  if (x == -infinity) return -infinity;
  return log(erfcx(-scaled) / 2) - scaled * scaled;
}
Exact dawsn(const Exact& x) {
  if (abs(x) == infinity) return 0;
  const Exact square = x * x;
  Exact term = 1, sum = 1;
  if (square > 200) {
    for (int k = 1; k < 190; ++k) {
      term *= (2 * k - 1) / (2 * square);
      sum += term;
      if (term < tiny) break;
    }
    return sum / (2 * x);
  }
  for (int k = 1; k < 30 || term > sum * tiny; ++k) term *= square / k, sum += term / (2 * k + 1);
  return x * exp(-square) * sum;
}

// The x with erfc(x) = q of 0 < q < 1, by Newton's steps on its logarithm.
Exact erfc_inverse(const Exact& q) {
  const Exact aim = log(q);
  Exact x = q > 0.5 ? Exact((1 - q) * sqrt(pi) / 2) : sqrt(-aim);
  for (int i = 0; i < 60; ++i) {
    const Exact value = erfc(x), step = (log(value) - aim) * value * sqrt(pi) / 2 * exp(x * x);
    x += step;
    if (abs(step) < abs(x) * 1e-35) break;
  }
  return x;
}
Exact erf_inverse(const Exact& y) {
  if (isnan(y) || abs(y) > 1) return nan;
  if (abs(y) == 1) return y * infinity;
  if (y == 0) return y;
  const Exact size = abs(y);
  Exact x;
  if (size > 0.5) {
    x = erfc_inverse(1 - size);
  } else {
    x = size * sqrt(pi) / 2;
    for (int i = 0; i < 60; ++i) {
      const Exact step = (by(mpfr_erf, x) - size) * sqrt(pi) / 2 * exp(x * x);
      x -= step;
      if (abs(step) < x * 1e-35) break;
    }
  }
  return y < 0 ? Exact(-x) : x;
}
Exact ndtri(const Exact& p) {
  if (!(p >= 0) || p > 1) return nan;
  if (p == 0) return -infinity;
  if (p == 1) return infinity;
  if (abs(p - 0.5) < 0.3) return sqrt(Exact(2)) * erf_inverse(2 * p - 1);
  return sqrt(Exact(2)) * (p < 0.5 ? Exact(-erfc_inverse(2 * p)) : erfc_inverse(2 * (1 - p)));
}

// x log y, 0 where x is unless y is NaN.
Exact times_log(const Exact& x, const Exact& y) { return x == 0 && !isnan(y) ? Exact(0) : Exact(x * log(y)); }
Exact log_beta(const Exact& a, const Exact& b) { return lgamma(a) + lgamma(b) - lgamma(a + b); }

// Σ (-1)^k x^(2k + odd) / ((2k + odd)·(2k + odd)!), without k = 0 where that divides by 0: what Si and Ci are made of.
Exact integral_series(const Exact& x, int odd) {
  Exact power = odd == 1 ? x : Exact(1), sum = odd == 1 ? x : Exact(0);
  for (int k = 1; k < 20 || abs(power) > tiny; ++k) {
    const int n = 2 * k + odd;
    power *= -x * x / (Exact(n - 1) * n);
    sum += power / n;
  }
  return sum;
}
Exact sine_integral(const Exact& x) { return integral_series(x, 1); }
Exact cosine_integral(const Exact& x) {
  static const Exact euler = by([](mpfr_ptr y, mpfr_srcptr, mpfr_rnd_t r) { return mpfr_const_euler(y, r); }, 0);
  return x < 0 ? nan : x == 0 ? Exact(-infinity) : Exact(euler + log(x) + integral_series(x, 0));
}
// Fresnel's S, and C: Σ (-1)^k (π/2)^n x^(2n + 1) / (n! (2n + 1)) of odd n, and of even ones.
Exact fresnel(const Exact& x, int first) {
  const Exact step = pi / 2 * x * x;
  Exact power = first == 1 ? Exact(step * x) : x, sum = 0;
  for (int n = first; n < 40 || abs(power) > tiny; n += 2) {
    sum += power / (2 * n + 1);
    power *= -step * step / (Exact(n + 1) * (n + 2));
  }
  return sum;
}
// Owen's T for 0 <= a <= 1: (atan a - Σ (-1)^j a^(2j + 1) / (2j + 1) · (1 - e^-q Σ_{i<=j} q^i / i!)) / 2π, q = h²/2.
Exact owens_t(const Exact& h, const Exact& a) {
  const Exact q = h * h / 2;
  Exact term = exp(-q), passed = term, power = a, sum = 0;
  const Exact small = boost::multiprecision::ldexp(Exact(1), -160);  // above what 1 - passed is rounded by
  for (int j = 0; j < 60 || abs(power) * abs(1 - passed) > small; ++j) {
    sum += (j % 2 == 0 ? 1 : -1) * power / (2 * j + 1) * (1 - passed);
    term *= q / (j + 1), passed += term, power *= a * a;
  }
  return (boost::multiprecision::atan(a) - sum) / (2 * pi);
}
// Σ (a)_n [(b)_n] / (c)_n x^n / n! of positive terms.
Exact hypergeometric(const Exact& a, const Exact* b, const Exact& c, const Exact& x) {
  Exact term = 1, sum = 1;
  for (int n = 0; n < 50 || term > sum * tiny; ++n)
    term *= (a + n) * (b == nullptr ? Exact(1) : Exact(*b + n)) / (c + n) * x / (n + 1), sum += term;
  return sum;
}
// E_n(x) = x^(n - 1) Γ(1 - n, x).
Exact exponential_integral(const Exact& n, const Exact& x) {
  const Exact a = 1 - n;
  Exact part;
  mpfr_gamma_inc(part.backend().data(), a.backend().data(), x.backend().data(), MPFR_RNDN);
  return pow(x, n - 1) * part;
}

#define OURS_1(f) [](const Arrays& x) { return f(x[0]); }
#define OURS_2(f) [](const Arrays& x) { return f(x[0], x[1]); }
#define OURS_3(f) [](const Arrays& x) { return f(x[0], x[1], x[2]); }
#define EXACT_1(f) [](const Exact* x) -> Exact { return f(x[0]); }
#define EXACT_2(f) [](const Exact* x) -> Exact { return f(x[0], x[1]); }
#define EXACT_3(f) [](const Exact* x) -> Exact { return f(x[0], x[1], x[2]); }

std::vector<Function> of_one_argument() {
  std::vector<Function> all;
  const auto add = [&](Function f) { all.push_back(std::move(f)); };
  add({.name = "erf_inv", .bound = 4, .homes = {{-1, 1}}, .ours = OURS_1(tn::erf_inv), .exact = EXACT_1(erf_inverse)});
  add({.name = "lgamma", .bound = 4, .homes = {{-20, 100}}, .ours = OURS_1(sp::lgamma), .exact = EXACT_1(lgamma)});
  add({.name = "gamma", .bound = 4, .homes = {{-20, 100}}, .ours = OURS_1(sp::gamma), .exact = EXACT_1(gamma)});
  add({.name = "digamma", .bound = 4, .homes = {{-20, 100}}, .ours = OURS_1(sp::digamma), .exact = EXACT_1(digamma)});
  add({.name = "factorial",
       .bound = 4,
       .homes = {{-1, 100}},
       .ours = OURS_1(sp::factorial),
       .exact = [](const Exact* x) -> Exact { return x[0] < 0 ? Exact(0) : gamma(x[0] + 1); }});
  add({.name = "i0", .bound = 4, .homes = {{-30, 30}}, .ours = OURS_1(sp::i0), .exact = [](const Exact* x) -> Exact {
         return abs(x[0]) > 1e4 ? infinity : Exact(scaled_bessel(0, x[0]) * exp(abs(x[0])));
       }});
  add({.name = "i1", .bound = 4, .homes = {{-30, 30}}, .ours = OURS_1(sp::i1), .exact = [](const Exact* x) -> Exact {
         return abs(x[0]) > 1e4 ? Exact(x[0] * infinity) : Exact(scaled_bessel(1, x[0]) * exp(abs(x[0])));
       }});
  add({.name = "i0e", .bound = 4, .homes = {{-30, 30}}, .ours = OURS_1(sp::i0e), .exact = [](const Exact* x) -> Exact {
         return scaled_bessel(0, x[0]);
       }});
  add({.name = "i1e", .bound = 4, .homes = {{-30, 30}}, .ours = OURS_1(sp::i1e), .exact = [](const Exact* x) -> Exact {
         return scaled_bessel(1, x[0]);
       }});
  add({.name = "entr", .bound = 4, .homes = {{0, 10}}, .ours = OURS_1(sp::entr), .exact = [](const Exact* x) -> Exact {
         return x[0] < 0 ? Exact(-infinity) : Exact(-times_log(x[0], x[0]));
       }});
  add({.name = "logit", .bound = 4, .homes = {{0, 1}}, .ours = OURS_1(sp::logit), .exact = [](const Exact* x) -> Exact {
         return log(x[0]) - log1p(-x[0]);
       }});
  add({.name = "erfcx", .bound = 4, .homes = {{-9, 30}}, .ours = OURS_1(sp::erfcx), .exact = EXACT_1(erfcx)});
  add({.name = "dawsn", .bound = 4, .homes = {{-30, 30}}, .ours = OURS_1(sp::dawsn), .exact = EXACT_1(dawsn)});
  add({.name = "ndtr",
       .bound = 4,
       .homes = {{-38, 10}},
       .ours = OURS_1(sp::ndtr),
       .exact = [](const Exact* x) -> Exact { return erfc(-x[0] / sqrt(Exact(2))) / 2; }});
  add({.name = "log_ndtr", .bound = 4, .homes = {{-40, 10}}, .ours = OURS_1(sp::log_ndtr), .exact = EXACT_1(log_ndtr)});
  add({.name = "ndtri", .bound = 4, .homes = {{0, 1}}, .ours = OURS_1(sp::ndtri), .exact = EXACT_1(ndtri)});
  add({.name = "exp1", .bound = 4, .homes = {{0, 100}}, .ours = OURS_1(sp::exp1), .exact = [](const Exact* x) -> Exact {
         return x[0] == 0 ? infinity : x[0] > 1e4 ? Exact(0) : x[0] > 0 ? Exact(-by(mpfr_eint, -x[0])) : nan;
       }});
  add({.name = "expi",
       .bound = 4,
       .homes = {{-50, 90}},
       .ours = OURS_1(sp::expi),
       .exact = [](const Exact* x) -> Exact {
         return x[0] > 1e4 ? infinity : x[0] < -1e4 ? Exact(0) : by(mpfr_eint, x[0]);
       }});
  add({.name = "spence",
       .bound = 4,
       .homes = {{0, 10}},
       .ours = OURS_1(sp::spence),
       .exact = [](const Exact* x) -> Exact { return x[0] < 0 ? nan : by(mpfr_li2, 1 - x[0]); }});
  return all;
}

// What grows without bounds, or takes terms by the size of its arguments, is measured where its arguments are at home.
std::vector<Function> of_several_arguments() {
  std::vector<Function> all;
  const auto add = [&](Function f) { all.push_back(std::move(f)); };
  add({.name = "xlogy",
       .bound = 4,
       .homes = {{-10, 10}, {0, 10}},
       .ours = OURS_2(sp::xlogy),
       .exact = EXACT_2(times_log)});
  add({.name = "xlog1py",
       .bound = 4,
       .homes = {{-10, 10}, {-1, 10}},
       .ours = OURS_2(sp::xlog1py),
       .exact = [](const Exact* x) -> Exact {
         return x[0] == 0 && !isnan(x[1]) ? Exact(0) : Exact(x[0] * log1p(x[1]));
       }});
  add({.name = "rel_entr",
       .bound = 4,
       .homes = {{0, 10}, {0, 10}},
       .ours = OURS_2(sp::rel_entr),
       .exact = [](const Exact* x) -> Exact {
         return x[0] == 0 ? Exact(0) : x[1] == 0 ? infinity : Exact(x[0] * log(x[0] / x[1]));
       },
       .everywhere = false});
  add({.name = "kl_div",
       .bound = 4,
       .homes = {{0, 10}, {0, 10}},
       .ours = OURS_2(sp::kl_div),
       .exact = [](const Exact* x) -> Exact {
         return x[0] == 0 ? x[1] : x[1] == 0 ? infinity : Exact(x[0] * log(x[0] / x[1]) - x[0] + x[1]);
       },
       .everywhere = false});
  add({.name = "boxcox",
       .bound = 4,
       .homes = {{0.01, 100}, {-10, 10}},
       .ours = OURS_2(sp::boxcox),
       .exact = [](const Exact* x) -> Exact {
         return x[1] == 0 ? Exact(log(x[0])) : Exact(expm1(x[1] * log(x[0])) / x[1]);
       },
       .everywhere = false});
  add({.name = "betaln",
       .bound = 4,
       .homes = {{0.01, 1000}, {0.01, 1000}},
       .ours = OURS_2(sp::betaln),
       .exact = EXACT_2(log_beta),
       .everywhere = false,
       .draws = 0.3});
  add({.name = "beta",
       .bound = 4,
       .homes = {{0.01, 100}, {0.01, 100}},
       .ours = OURS_2(sp::beta),
       .exact = [](const Exact* x) -> Exact { return exp(log_beta(x[0], x[1])); },
       .everywhere = false,
       .draws = 0.3});
  add({.name = "poch",
       .bound = 4,
       .homes = {{0.01, 30}, {0, 30}},
       .ours = OURS_2(sp::poch),
       .exact = [](const Exact* x) -> Exact { return gamma(x[0] + x[1]) / gamma(x[0]); },
       .everywhere = false,
       .draws = 0.3});
  add({.name = "zeta",
       .bound = 4,
       .homes = {{1, 60}, {0.01, 1000}},
       .ours = OURS_2(sp::zeta),
       .exact = EXACT_2(zeta),
       .everywhere = false,
       .draws = 0.02});
  add({.name = "polygamma",
       .bound = 4,
       .homes = {{0, 12}, {-10, 100}},
       .ours = [](const Arrays& x) { return sp::polygamma(tn::floor(x[0]), x[1]); },
       .exact = [](const Exact* x) -> Exact { return polygamma(floor(x[0]), x[1]); },
       .everywhere = false,
       .draws = 0.02});
  add({.name = "gammainc",
       .bound = 4,
       .homes = {{0.001, 1000}, {0, 1000}},
       .ours = OURS_2(sp::gammainc),
       .exact = [](const Exact* x) -> Exact { return gamma_part(x[0], x[1], false); },
       .everywhere = false,
       .draws = 0.02});
  add({.name = "gammaincc",
       .bound = 4,
       .homes = {{0.001, 1000}, {0, 1000}},
       .ours = OURS_2(sp::gammaincc),
       .exact = [](const Exact* x) -> Exact { return gamma_part(x[0], x[1], true); },
       .everywhere = false,
       .draws = 0.02});
  add({.name = "betainc",
       .bound = 4,
       .homes = {{0.01, 100}, {0.01, 100}, {0, 1}},
       .ours = OURS_3(sp::betainc),
       .exact = EXACT_3(beta_part),
       .everywhere = false,
       .draws = 0.02});
  return all;
}

// Of one argument, where their series bear it.
std::vector<Function> of_one_in_range() {
  std::vector<Function> all;
  const auto add = [&](Function f) { all.push_back(std::move(f)); };
  add({.name = "sici: Si",
       .bound = 4,
       .homes = {{0, 40}},
       .ours = [](const Arrays& x) { return sp::sici(x[0]).first; },
       .exact = EXACT_1(sine_integral),
       .everywhere = false,
       .draws = 0.3});
  add({.name = "sici: Ci",
       .bound = 4,
       .homes = {{0, 40}},
       .ours = [](const Arrays& x) { return sp::sici(x[0]).second; },
       .exact = EXACT_1(cosine_integral),
       .everywhere = false,
       .draws = 0.3});
  add({.name = "fresnel: S",
       .bound = 4,
       .homes = {{0, 6}},
       .ours = [](const Arrays& x) { return sp::fresnel(x[0]).first; },
       .exact = [](const Exact* x) -> Exact { return fresnel(x[0], 1); },
       .everywhere = false,
       .draws = 0.3});
  add({.name = "fresnel: C",
       .bound = 4,
       .homes = {{0, 6}},
       .ours = [](const Arrays& x) { return sp::fresnel(x[0]).second; },
       .exact = [](const Exact* x) -> Exact { return fresnel(x[0], 0); },
       .everywhere = false,
       .draws = 0.3});
  add({.name = "bessel_jn, order 2",
       .bound = 4,
       .homes = {{0, 20}},
       .ours = [](const Arrays& x) { return sp::bessel_jn(x[0], 2)(2); },
       .exact = [](const Exact* x) -> Exact {
         Exact y;
         mpfr_jn(y.backend().data(), 2, x[0].backend().data(), MPFR_RNDN);
         return y;
       },
       .everywhere = false,
       .draws = 0.3});
  add({.name = "multigammaln of 2",
       .bound = 4,
       .homes = {{1, 1000}},
       .ours = [](const Arrays& x) { return sp::multigammaln(x[0], 2); },
       .exact = [](const Exact* x) -> Exact { return log(pi) / 2 + lgamma(x[0]) + lgamma(x[0] - Exact(0.5)); },
       .everywhere = false,
       .draws = 0.3});
  return all;
}

// Powers, choices, and what series make of several arguments.
std::vector<Function> of_several_in_range() {
  std::vector<Function> all;
  const auto add = [&](Function f) { all.push_back(std::move(f)); };
  add({.name = "boxcox1p",
       .bound = 4,
       .homes = {{-0.9, 100}, {-10, 10}},
       .ours = OURS_2(sp::boxcox1p),
       .exact = [](const Exact* x) -> Exact {
         return x[1] == 0 ? Exact(log1p(x[0])) : Exact(expm1(x[1] * log1p(x[0])) / x[1]);
       },
       .everywhere = false});
  add({.name = "comb",
       .bound = 4,
       .homes = {{0, 60}, {0, 60}},
       .ours = [](const Arrays& x) { return sp::comb(tn::max(x[0], x[1]), tn::min(x[0], x[1])); },
       .exact = [](const Exact* x) -> Exact {
         const Exact n = x[0] > x[1] ? x[0] : x[1], k = x[0] > x[1] ? x[1] : x[0];
         return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1));
       },
       .everywhere = false,
       .draws = 0.3});
  add({.name = "expn",
       .bound = 4,
       .homes = {{1, 20}, {0.01, 60}},
       .ours = [](const Arrays& x) { return sp::expn(tn::floor(x[0]), x[1]); },
       .exact = [](const Exact* x) -> Exact { return exponential_integral(floor(x[0]), x[1]); },
       .everywhere = false,
       .draws = 0.02});
  add({.name = "owens_t",
       .bound = 4,
       .homes = {{0, 8}, {0, 1}},
       .ours = OURS_2(sp::owens_t),
       .exact = EXACT_2(owens_t),
       .everywhere = false,
       .draws = 0.02});
  add({.name = "hyp1f1",
       .bound = 4,
       .homes = {{0.1, 20}, {0.1, 20}, {0.01, 30}},
       .ours = OURS_3(sp::hyp1f1),
       .exact = [](const Exact* x) -> Exact { return hypergeometric(x[0], nullptr, x[1], x[2]); },
       .everywhere = false,
       .draws = 0.02});
  add({.name = "hyp2f1",
       .bound = 4,
       .homes = {{0.1, 10}, {0.1, 10}, {0.1, 20}},
       .ours = [](const Arrays& x) { return sp::hyp2f1(x[0], x[1], x[2], 0.4); },
       .exact = [](const Exact* x) -> Exact { return hypergeometric(x[0], &x[1], x[2], Exact(0.4)); },
       .everywhere = false,
       .draws = 0.02});
  return all;
}

}  // namespace

std::vector<Function> special_functions() {
  std::vector<Function> all = of_one_argument();
  for (auto* more : {of_several_arguments, of_one_in_range, of_several_in_range})
    for (Function& f : more()) all.push_back(std::move(f));
  return all;
}

}  // namespace accuracy
