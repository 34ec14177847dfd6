// Distributions of integers, a struct of standard formulas each.
#include <cmath>
#include <numbers>

#include "tenon/api/special.h"
#include "tenon/api/special/gamma.h"
#include "tenon/api/special/iteration.h"
#include "tenon/api/stats/forms.h"

namespace tenon::stats {
namespace {

Array is_probability(const Array& p) { return (p >= 0.0) & (p <= 1.0); }

struct BernoulliDistribution {
  static constexpr const char* name = "bernoulli";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {0.5};
  static Array valid(In s) { return is_probability(s[0]); }
  static Array below(const Array& y, In) { return y < 0.0; }
  static Array above(const Array& y, In) { return y > 1.0; }
  static double inner(In) { return 0; }
  static Array logpdf(const Array& y, In s) { return special::xlogy(y, s[0]) + special::xlog1py(1.0 - y, -s[0]); }
  static Array cdf(const Array& y, In s) { return where(y < 1.0, 1.0 - s[0], 1.0); }
  static Array sf(const Array& y, In s) { return where(y < 1.0, s[0], 0.0); }
};
Array bernoulli_ppf(In in) {
  const Given<BernoulliDistribution> given(in, false);
  const Array& q = given.variate;
  const Array made = given.loc + where(q <= 1.0 - given.s[0], 0.0, 1.0);
  return where(given.valid & (q >= 0.0) & (q <= 1.0), made, nan);
}

struct BinomialDistribution {
  static constexpr const char* name = "binom";
  static constexpr std::size_t shapes = 2;
  static constexpr double usual[] = {1, 0.5};
  static Array valid(In s) { return (s[0] >= 0.0) & (floor(s[0]) == s[0]) & is_probability(s[1]); }
  static Array below(const Array& y, In) { return y < 0.0; }
  static Array above(const Array& y, In s) { return y > s[0]; }
  static double inner(In) { return 0; }
  static Array logpdf(const Array& y, In s) {
    return special::log_of_choices(s[0], y) + special::xlogy(y, s[1]) + special::xlog1py(s[0] - y, -s[1]);
  }
  static Array cdf(const Array& y, In s) {
    const Array last = y >= s[0], k = where(last, 0.0, y), n = where(last, 1.0, s[0]);
    return where(last, 1.0, special::betainc(n - k, k + 1.0, 1.0 - s[1]));
  }
  static Array sf(const Array& y, In s) {
    const Array last = y >= s[0], k = where(last, 0.0, y), n = where(last, 1.0, s[0]);
    return where(last, 0.0, special::betainc(k + 1.0, n - k, s[1]));
  }
};

struct NegativeBinomialDistribution {
  static constexpr const char* name = "nbinom";
  static constexpr std::size_t shapes = 2;
  static constexpr double usual[] = {1, 0.5};
  static Array valid(In s) { return (s[0] > 0.0) & (s[1] > 0.0) & (s[1] <= 1.0); }
  static Array below(const Array& y, In) { return y < 0.0; }
  static double inner(In) { return 0; }
  static Array logpdf(const Array& y, In s) {
    const Array choices = -log(s[0] + y) - special::betaln(s[0], y + 1.0);
    return choices + s[0] * log(s[1]) + special::xlog1py(y, -s[1]);
  }
  static Array cdf(const Array& y, In s) { return special::betainc(s[0], y + 1.0, s[1]); }
  static Array sf(const Array& y, In s) { return special::betainc(y + 1.0, s[0], 1.0 - s[1]); }
};

struct GeometricDistribution {
  static constexpr const char* name = "geom";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {0.5};
  static Array valid(In s) { return (s[0] > 0.0) & (s[0] <= 1.0); }
  static Array below(const Array& y, In) { return y < 1.0; }
  static double inner(In) { return 1; }
  static Array logpdf(const Array& y, In s) { return special::xlog1py(y - 1.0, -s[0]) + log(s[0]); }
  static Array cdf(const Array& y, In s) { return -expm1(special::xlog1py(y, -s[0])); }
  static Array sf(const Array& y, In s) { return exp(special::xlog1py(y, -s[0])); }
};

struct PoissonDistribution {
  static constexpr const char* name = "poisson";
  static constexpr std::size_t shapes = 1;
  static constexpr double usual[] = {1};
  static Array valid(In s) { return s[0] >= 0.0; }
  static Array below(const Array& y, In) { return y < 0.0; }
  static double inner(In) { return 0; }
  static Array logpdf(const Array& y, In s) { return special::xlogy(y, s[0]) - special::lgamma(y + 1.0) - s[0]; }
  static Array cdf(const Array& y, In s) { return special::gammaincc(y + 1.0, s[0]); }
  static Array sf(const Array& y, In s) { return special::gammainc(y + 1.0, s[0]); }
};
// -Σ p log p as far as terms count, and beyond a mean of 200 by its asymptotic series.
Array poisson_entropy(In in) {
  const Array &mu = in[0], far = mu > 200.0, none = mu == 0.0, usual = (mu > 0.0) & !far;
  const Array near = where(usual, mu, 1.0), large = where(far & (mu < infinity), mu, 1.0);
  const auto step = [&](const Arrays& carry, const Array& count, In of) {
    const Array &near = of[0], log_p = carry[0] + log(near / count), part = -log_p * exp(log_p),
                total = carry[1] + part;
    return special::Step{{log_p, total}, (count < near) | (part > total * (special::epsilon_of(near.dtype()) / 64))};
  };
  const Array sum = special::until_done(usual, step, {-near, near * exp(-near)}, {near})[1];
  const Array inverse = 1.0 / large;
  const Array series = 0.5 * log(2 * std::numbers::pi * std::numbers::e * large) -
                       inverse * (1. / 12 + inverse * (1. / 24 + inverse * (19. / 360 + inverse * (9. / 80))));
  const Array made = where(usual, sum, where(far, where(mu == infinity, infinity, series), where(none, 0.0, nan)));
  return made + 0.0 * where(is_finite(in[1]), in[1], 0.0);
}

struct BetaBinomialDistribution {
  static constexpr const char* name = "betabinom";
  static constexpr std::size_t shapes = 3;
  static constexpr double usual[] = {1, 1, 1};
  static Array valid(In s) { return (s[0] >= 0.0) & (floor(s[0]) == s[0]) & (s[1] > 0.0) & (s[2] > 0.0); }
  static Array below(const Array& y, In) { return y < 0.0; }
  static Array above(const Array& y, In s) { return y > s[0]; }
  static double inner(In) { return 0; }
  static Array logpdf(const Array& y, In s) {
    return special::log_of_choices(s[0], y) + special::betaln(y + s[1], s[0] - y + s[2]) - special::betaln(s[1], s[2]);
  }
};

constinit const SpecialFunction bernoulli_ppf_function("bernoulli.ppf", bernoulli_ppf);
constinit const SpecialFunction poisson_entropy_function("poisson.entropy", poisson_entropy);
template <class D>
constexpr Distribution::Functions with(Quantity quantity, const SpecialFunction& f) {
  Distribution::Functions made = DiscreteFunctionsOf<D>::all;
  made[static_cast<std::size_t>(quantity)] = &f;
  return made;
}
constexpr Distribution::Functions of_bernoulli = with<BernoulliDistribution>(Quantity::ppf, bernoulli_ppf_function);
constexpr Distribution::Functions of_poisson = with<PoissonDistribution>(Quantity::entropy, poisson_entropy_function);

}  // namespace

constinit const Bernoulli bernoulli(&of_bernoulli);
constinit const Poisson poisson(&of_poisson);
constinit const Summed<Operand> geom(&DiscreteFunctionsOf<GeometricDistribution>::all);
constinit const Summed<Operand, Operand> binom(&DiscreteFunctionsOf<BinomialDistribution>::all);
constinit const Summed<Operand, Operand> nbinom(&DiscreteFunctionsOf<NegativeBinomialDistribution>::all);
constinit const Discrete<Operand, Operand, Operand> betabinom(&DiscreteFunctionsOf<BetaBinomialDistribution>::all);

}  // namespace tenon::stats
