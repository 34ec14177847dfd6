// Continuous distributions, a struct of standard formulas each.
#include <cmath>
#include <numbers>

#include "tenon/api/special.h"
#include "tenon/api/stats/forms.h"
#include "tenon/api/tangents.h"

namespace tenon::stats {

Array log_of_rest(const Array& y) {
  const Array near = y < std::numbers::ln2;
  return where(near, log(-expm1(-where(near, y, 0.5))), log1p(-exp(-where(near, 1.0, y))));
}

namespace {

using std::numbers::ln2;
using std::numbers::pi;

struct NormDistribution {
  static constexpr const char* name = "norm";
  static constexpr std::size_t shapes = 0;
  static Array logpdf(const Array& z, In) { return -0.5 * z * z - 0.5 * std::log(2 * pi); }
  static Array cdf(const Array& z, In) { return special::ndtr(z); }
  static Array sf(const Array& z, In) { return special::ndtr(-z); }
  static Array logcdf(const Array& z, In) { return special::log_ndtr(z); }
  static Array logsf(const Array& z, In) { return special::log_ndtr(-z); }
  static Array ppf(const Array& q, In) { return special::ndtri(q); }
  static Array isf(const Array& q, In) { return -special::ndtri(q); }
};

struct ExponDistribution {
  static constexpr const char* name = "expon";
  static constexpr std::size_t shapes = 0;
  static Array below(const Array& z, In) { return z < 0.0; }
  static double inner(In) { return 1; }
  static Array logpdf(const Array& z, In) { return -z; }
  static Array cdf(const Array& z, In) { return -expm1(-z); }
  static Array logcdf(const Array& z, In) { return log_of_rest(z); }
  static Array logsf(const Array& z, In) { return -z; }
  static Array ppf(const Array& q, In) { return -log1p(-q); }
  static Array isf(const Array& q, In) { return -log(q); }
};

struct ParetoDistribution {
  static constexpr const char* name = "pareto";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {1};
  static Array valid(In s) { return s[0] > 0.0; }
  static Array below(const Array& z, In) { return z < 1.0; }
  static double inner(In) { return 2; }
  static Array logpdf(const Array& z, In s) { return log(s[0]) - (s[0] + 1.0) * log(z); }
  static Array cdf(const Array& z, In s) { return -expm1(-s[0] * log(z)); }
  static Array logcdf(const Array& z, In s) { return log_of_rest(s[0] * log(z)); }
  static Array logsf(const Array& z, In s) { return -s[0] * log(z); }
  static Array ppf(const Array& q, In s) { return exp(-log1p(-q) / s[0]); }
  static Array isf(const Array& q, In s) { return exp(-log(q) / s[0]); }
};

struct CauchyDistribution {
  static constexpr const char* name = "cauchy";
  static constexpr std::size_t shapes = 0;
  static Array logpdf(const Array& z, In) { return -std::log(pi) - log1p(z * z); }
  static Array cdf(const Array& z, In) { return atan2(1.0, -z) / pi; }  // exact in both tails
  static Array sf(const Array& z, In) { return atan2(1.0, z) / pi; }
  static Array logcdf(const Array& z, In) {
    const Array low = z < 0.0;
    return where(low, log(atan2(1.0, where(low, -z, 0.0)) / pi), log1p(-atan2(1.0, where(low, 0.0, z)) / pi));
  }
  static Array logsf(const Array& z, In s) { return logcdf(-z, s); }
  static Array ppf(const Array& q, In) {
    const Array middle = abs(q - 0.5) < 0.25, low = q < 0.5, tail = where(middle, 0.25, where(low, q, 1.0 - q));
    const Array far = 1.0 / tan(pi * tail);
    return where(middle, tan(pi * where(middle, q - 0.5, 0.0)), where(low, -far, far));
  }
  static Array isf(const Array& q, In s) { return -ppf(q, s); }
};

struct LaplaceDistribution {
  static constexpr const char* name = "laplace";
  static constexpr std::size_t shapes = 0;
  static Array logpdf(const Array& z, In) { return -abs(z) - ln2; }
  static Array cdf(const Array& z, In) {
    const Array tail = 0.5 * exp(-abs(z));
    return where(z < 0.0, tail, 1.0 - tail);
  }
  static Array sf(const Array& z, In s) { return cdf(-z, s); }
  static Array logcdf(const Array& z, In) { return where(z < 0.0, z - ln2, log1p(-0.5 * exp(-abs(z)))); }
  static Array logsf(const Array& z, In s) { return logcdf(-z, s); }
  static Array ppf(const Array& q, In) {
    const Array low = q < 0.5, far = log(2.0 * where(low, q, 1.0 - q));
    return where(low, far, -far);
  }
  static Array isf(const Array& q, In s) { return -ppf(q, s); }
};

struct LogisticDistribution {
  static constexpr const char* name = "logistic";
  static constexpr std::size_t shapes = 0;
  static Array logpdf(const Array& z, In) { return -abs(z) - 2.0 * log1p(exp(-abs(z))); }
  static Array cdf(const Array& z, In) { return tenon::logistic(z); }
  static Array sf(const Array& z, In) { return tenon::logistic(-z); }
  static Array logcdf(const Array& z, In) { return min(z, 0.0) - log1p(exp(-abs(z))); }
  static Array logsf(const Array& z, In s) { return logcdf(-z, s); }
  static Array ppf(const Array& q, In) { return special::logit(q); }
  static Array isf(const Array& q, In) { return -special::logit(q); }
};

struct UniformDistribution {
  static constexpr const char* name = "uniform";
  static constexpr std::size_t shapes = 0;
  static Array below(const Array& z, In) { return z < 0.0; }
  static Array above(const Array& z, In) { return z > 1.0; }
  static double inner(In) { return 0.5; }
  static Array logpdf(const Array& z, In) { return 0.0 * z; }
  static Array cdf(const Array& z, In) { return z; }
  static Array ppf(const Array& q, In) { return q; }
  static Array isf(const Array& q, In) { return 1.0 - q; }
};

// exp(-z), which is infinite of the least numbers, where z - exp(-z) is to be -∞.
Array floored(const Array& z) { return where(z < -1e3, -1e3, z); }

struct GumbelRightDistribution {
  static constexpr const char* name = "gumbel_r";
  static constexpr std::size_t shapes = 0;
  static Array logpdf(const Array& z, In) { return -floored(z) - exp(-floored(z)); }
  static Array logcdf(const Array& z, In) { return -exp(-z); }
  static Array sf(const Array& z, In) { return -expm1(-exp(-z)); }
  static Array logsf(const Array& z, In) {
    const Array far = z > 40.0;  // there the exponential itself is left
    return where(far, -z, log_of_rest(exp(-where(far, 0.0, z))));
  }
  static Array ppf(const Array& q, In) { return -log(-log(q)); }
  static Array isf(const Array& q, In) { return -log(-log1p(-q)); }
};
struct GumbelLeftDistribution {
  static constexpr const char* name = "gumbel_l";
  static constexpr std::size_t shapes = 0;
  using Mirrored = GumbelRightDistribution;
  static Array logpdf(const Array& z, In s) { return Mirrored::logpdf(-z, s); }
  static Array cdf(const Array& z, In s) { return Mirrored::sf(-z, s); }
  static Array logcdf(const Array& z, In s) { return Mirrored::logsf(-z, s); }
  static Array logsf(const Array& z, In s) { return Mirrored::logcdf(-z, s); }
  static Array ppf(const Array& q, In s) { return -Mirrored::isf(q, s); }
  static Array isf(const Array& q, In s) { return -Mirrored::ppf(q, s); }
};

struct GammaDistribution {
  static constexpr const char* name = "gamma";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {1};
  static Array valid(In s) { return s[0] > 0.0; }
  static Array below(const Array& z, In) { return z < 0.0; }
  static double inner(In) { return 1; }
  static Array logpdf(const Array& z, In s) { return special::xlogy(s[0] - 1.0, z) - z - special::lgamma(s[0]); }
  static Array cdf(const Array& z, In s) { return special::gammainc(s[0], z); }
  static Array sf(const Array& z, In s) { return special::gammaincc(s[0], z); }
};
struct ChiSquareDistribution {
  static constexpr const char* name = "chi2";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {2};
  static Array valid(In s) { return s[0] > 0.0; }
  static Array below(const Array& z, In) { return z < 0.0; }
  static double inner(In) { return 1; }
  static Array logpdf(const Array& z, In s) { return GammaDistribution::logpdf(0.5 * z, Arrays{0.5 * s[0]}) - ln2; }
  static Array cdf(const Array& z, In s) { return special::gammainc(0.5 * s[0], 0.5 * z); }
  static Array sf(const Array& z, In s) { return special::gammaincc(0.5 * s[0], 0.5 * z); }
};

struct BetaDistribution {
  static constexpr const char* name = "beta";
  static constexpr std::size_t shapes = 2;
  static constexpr double usual[] = {1, 1};
  static Array valid(In s) { return (s[0] > 0.0) & (s[1] > 0.0); }
  static Array below(const Array& z, In) { return z < 0.0; }
  static Array above(const Array& z, In) { return z > 1.0; }
  static double inner(In) { return 0.5; }
  static Array logpdf(const Array& z, In s) {
    return special::xlogy(s[0] - 1.0, z) + special::xlog1py(s[1] - 1.0, -z) - special::betaln(s[0], s[1]);
  }
  static Array cdf(const Array& z, In s) { return special::betainc(s[0], s[1], z); }
  static Array sf(const Array& z, In s) { return special::betainc(s[1], s[0], 1.0 - z); }
};

// A distribution symmetric about 0, of one parameter, by its tail(z, s) of z ≥ 0: the probability of numbers above z,
// whose formula has no derivative at 0, where the density is that.
template <class D>
struct SymmetricTail {
  static Array value(In in) { return D::tail(in[0], in[1]); }
  static Array in_z(In in) { return -exp(D::logpdf(in[0], in.subspan(1))); }
  static Array in_shape(In in) {
    const Array zero = in[0] == 0.0, z = where(zero, 1.0, in[0]);
    const Array slope =
        jvp([&](Array s) { return D::tail(z, s); }, std::tuple(in[1]), std::tuple(ones_like(in[1]))).second;
    return where(zero, 0.0, slope);
  }
  static constinit inline const SpecialFunction function{D::name, value, in_z, in_shape};

  static Array cdf(const Array& z, In s) {
    const Array low = z < 0.0, above = function({where(low, -z, z), s[0]});
    return where(low, above, 1.0 - above);
  }
  static Array sf(const Array& z, In s) { return cdf(-z, s); }
};

struct StudentDistribution : SymmetricTail<StudentDistribution> {
  static constexpr const char* name = "t";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {1};
  static Array valid(In s) { return s[0] > 0.0; }
  static Array logpdf(const Array& z, In s) {
    const Array &df = s[0], square = z * z, part = square / df, tiny = part < special::epsilon_of(z.dtype());
    const Array power = where(tiny, square + part, (df + 1.0) * log1p(where(tiny, 1.0, part)));
    return -0.5 * log(df) - special::betaln(0.5, 0.5 * df) - 0.5 * power;
  }
  // The probability of numbers above z ≥ 0.
  static Array tail(const Array& z, const Array& df) {
    const Array square = z * z, near = square < df;  // whichever part of 1 is exact
    const Array inner = 0.5 - 0.5 * special::betainc(0.5, 0.5 * df, where(near, square / (df + square), 0.5));
    return where(near, inner, 0.5 * special::betainc(0.5 * df, 0.5, where(near, 0.5, df / (df + square))));
  }
};

struct GeneralNormDistribution : SymmetricTail<GeneralNormDistribution> {
  static constexpr const char* name = "gennorm";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {1};
  static Array valid(In s) { return s[0] > 0.0; }
  static Array power(const Array& z, const Array& beta) {
    const Array zero = z == 0.0;
    return where(zero, 0.0, pow(abs(where(zero, 1.0, z)), beta));
  }
  static Array logpdf(const Array& z, In s) { return log(0.5 * s[0]) - special::lgamma(1.0 / s[0]) - power(z, s[0]); }
  // Near 0, where z^β may underflow, P(1/β, z^β) is z / Γ(1 + 1/β).
  static Array tail(const Array& z, const Array& beta) {
    const Array raised = power(z, beta), tiny = raised < special::least_normal_of(z.dtype());
    const Array near = 0.5 - 0.5 * z / special::gamma(1.0 + 1.0 / beta);
    return where(tiny, near, 0.5 * special::gammaincc(1.0 / beta, where(tiny, 1.0, raised)));
  }
};

// log(Φ(b) - Φ(a)) of a < b, in the tail that has the smaller numbers.
Array log_of_mass(const Array& a, const Array& b) {
  const Array right = a > 0.0, low = where(right, -b, a), high = where(right, -a, b), tail = high <= 0.0;
  const Array log_high = special::log_ndtr(where(tail, high, 0.0)), log_low = special::log_ndtr(where(tail, low, -1.0));
  const Array central = log1p(-special::ndtr(where(tail, -1.0, low)) - special::ndtr(-where(tail, 1.0, high)));
  return where(tail, log_high + log_of_rest(log_high - log_low), central);
}
struct TruncatedNormDistribution {
  static constexpr const char* name = "truncnorm";
  static constexpr std::size_t shapes = 2;
  static constexpr double usual[] = {-1, 1};
  static Array valid(In s) { return s[0] < s[1]; }
  static Array below(const Array& z, In s) { return z < s[0]; }
  static Array above(const Array& z, In s) { return z > s[1]; }
  static Array inner(In s) { return where(s[0] == -infinity, where(s[1] == infinity, 0.0, s[1]), s[0]); }
  static Array logpdf(const Array& z, In s) { return NormDistribution::logpdf(z, {}) - log_of_mass(s[0], s[1]); }
  static Array logcdf(const Array& z, In s) {
    const Array all = log_of_mass(s[0], s[1]), first = z == s[0], last = z == s[1], inside = !(first | last);
    const Array safe = where(inside, z, 0.5 * (clamp(s[0], -1e3, 1e3) + clamp(s[1], -1e3, 1e3)));
    const Array lower = log_of_mass(s[0], safe) - all, upper = log_of_mass(safe, s[1]) - all;
    const Array most = lower > -0.1;
    const Array made = where(most, log_of_rest(where(most, -upper, 1.0)), lower);
    return where(first, -infinity, where(last, 0.0, made));
  }
  static Array logsf(const Array& z, In s) { return logcdf(-z, Arrays{-s[1], -s[0]}); }
};

struct VonMisesDistribution {
  static constexpr const char* name = "vonmises";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {1};
  static Array valid(In s) { return s[0] >= 0.0; }
  static Array logpdf(const Array& z, In s) {
    const Array half = sin(0.5 * z);  // cos z - 1 = -2 sin² (z/2)
    return -2.0 * s[0] * half * half - std::log(2 * pi) - log(special::i0e(s[0]));
  }
};
struct WrappedCauchyDistribution {
  static constexpr const char* name = "wrapcauchy";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {0.5};
  static Array valid(In s) { return (s[0] > 0.0) & (s[0] < 1.0); }
  static Array below(const Array& z, In) { return z < 0.0; }
  static Array above(const Array& z, In) { return z > 2 * pi; }
  static double inner(In) { return 1; }
  static Array logpdf(const Array& z, In s) {
    const Array &c = s[0], half = sin(0.5 * z), rest = 1.0 - c;  // 1 + c² - 2c cos z = (1 - c)² + 4c sin² (z/2)
    return log1p(c) + log1p(-c) - std::log(2 * pi) - log(rest * rest + 4.0 * c * half * half);
  }
};

}  // namespace

constinit const Invertible<> norm(&FunctionsOf<NormDistribution>::all);
constinit const Invertible<> expon(&FunctionsOf<ExponDistribution>::all);
constinit const Invertible<> cauchy(&FunctionsOf<CauchyDistribution>::all);
constinit const Invertible<> laplace(&FunctionsOf<LaplaceDistribution>::all);
constinit const Invertible<> logistic(&FunctionsOf<LogisticDistribution>::all);
constinit const Invertible<> uniform(&FunctionsOf<UniformDistribution>::all);
constinit const Invertible<> gumbel_l(&FunctionsOf<GumbelLeftDistribution>::all);
constinit const Invertible<> gumbel_r(&FunctionsOf<GumbelRightDistribution>::all);
constinit const Invertible<Operand> pareto(&FunctionsOf<ParetoDistribution>::all);
constinit const Continuous<Operand> gamma(&FunctionsOf<GammaDistribution>::all);
constinit const Continuous<Operand> chi2(&FunctionsOf<ChiSquareDistribution>::all);
constinit const Continuous<Operand> t(&FunctionsOf<StudentDistribution>::all);
constinit const Continuous<Operand> gennorm(&FunctionsOf<GeneralNormDistribution>::all);
constinit const Continuous<Operand, Operand> beta(&FunctionsOf<BetaDistribution>::all);
constinit const Continuous<Operand, Operand> truncnorm(&FunctionsOf<TruncatedNormDistribution>::all);
constinit const Density<Operand> vonmises(&FunctionsOf<VonMisesDistribution>::all);
constinit const Density<Operand> wrapcauchy(&FunctionsOf<WrappedCauchyDistribution>::all);

}  // namespace tenon::stats
