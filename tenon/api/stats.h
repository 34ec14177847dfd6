// Distributions of probability: densities, distribution functions and quantiles, element by element.
//
//   stats::norm.logpdf(0.0)   // -0.9189385
//   stats::gamma.cdf(4.0, 1.0, 0.0, 2.0)   // 1 - exp(-2) = 0.8646647
//
// Operands are as those of special functions (tenon/api/special.h): real, of any shape; they promote and broadcast.
// Location and scale come after the distribution's own parameters, and may be left out: of a variate x, the standard
// one is (x - loc) / scale. Derivatives of any order in the variate and every parameter. Outside of its support a
// density is 0 and its logarithm -∞; NaN where a parameter is not one that the distribution has.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "tenon/ir/array.h"

namespace tenon::special {
class SpecialFunction;
}

namespace tenon::stats {

enum class Quantity : std::uint8_t { logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, entropy };
inline constexpr std::size_t quantities = 9;

class Distribution {
 public:
  using Functions = std::array<const special::SpecialFunction*, quantities>;  // null: one that there is not
  constexpr explicit Distribution(const Functions* functions) : functions_(functions) {}

 protected:
  Array of(Quantity quantity, std::initializer_list<Operand> operands) const;

 private:
  friend Array distribution(std::string_view name, std::string_view quantity, std::span<const Operand> operands);
  const Functions* functions_;
};

// Continuous ones, of as many parameters as there are of Shape, which is Operand.
template <class... Shape>
class Density : public Distribution {
 public:
  using Distribution::Distribution;
  // The logarithm of the density at x, and the density.
  //   stats::expon.pdf(2.0)   // exp(-2) = 0.1353353
  Array logpdf(const Operand& x, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return of(Quantity::logpdf, {x, shape..., loc, scale});
  }
  Array pdf(const Operand& x, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return of(Quantity::pdf, {x, shape..., loc, scale});
  }
};
template <class... Shape>
class Continuous : public Density<Shape...> {
 public:
  using Density<Shape...>::Density;
  // The probability of numbers up to x, that of numbers above x, and their logarithms.
  Array cdf(const Operand& x, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return this->of(Quantity::cdf, {x, shape..., loc, scale});
  }
  Array logcdf(const Operand& x, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return this->of(Quantity::logcdf, {x, shape..., loc, scale});
  }
  Array sf(const Operand& x, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return this->of(Quantity::sf, {x, shape..., loc, scale});
  }
  Array logsf(const Operand& x, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return this->of(Quantity::logsf, {x, shape..., loc, scale});
  }
};
template <class... Shape>
class Invertible : public Continuous<Shape...> {
 public:
  using Continuous<Shape...>::Continuous;
  // The x with cdf(x) = q, and with sf(x) = q; NaN outside of [0, 1].
  //   stats::norm.ppf(0.975)   // 1.959964
  Array ppf(const Operand& q, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return this->of(Quantity::ppf, {q, shape..., loc, scale});
  }
  Array isf(const Operand& q, const Shape&... shape, const Operand& loc = 0, const Operand& scale = 1) const {
    return this->of(Quantity::isf, {q, shape..., loc, scale});
  }
};
// Of integers; numbers between them have no probability.
template <class... Shape>
class Discrete : public Distribution {
 public:
  using Distribution::Distribution;
  // The logarithm of the probability of k, and the probability.
  //   stats::poisson.pmf(0, 1.0)   // exp(-1) = 0.3678794
  Array logpmf(const Operand& k, const Shape&... shape, const Operand& loc = 0) const {
    return of(Quantity::logpdf, {k, shape..., loc});
  }
  Array pmf(const Operand& k, const Shape&... shape, const Operand& loc = 0) const {
    return of(Quantity::pdf, {k, shape..., loc});
  }
};
template <class... Shape>
class Summed : public Discrete<Shape...> {
 public:
  using Discrete<Shape...>::Discrete;
  // The probability of numbers up to k, and that of numbers above k.
  //   stats::bernoulli.cdf(0, 0.25)   // 0.75
  Array cdf(const Operand& k, const Shape&... shape, const Operand& loc = 0) const {
    return this->of(Quantity::cdf, {k, shape..., loc});
  }
  Array sf(const Operand& k, const Shape&... shape, const Operand& loc = 0) const {
    return this->of(Quantity::sf, {k, shape..., loc});
  }
};
class Bernoulli : public Summed<Operand> {
 public:
  using Summed::Summed;
  // 0 where q is at most 1 - p, 1 above.
  Array ppf(const Operand& q, const Operand& p, const Operand& loc = 0) const { return of(Quantity::ppf, {q, p, loc}); }
};
class Poisson : public Summed<Operand> {
 public:
  using Summed::Summed;
  // -Σ p log p, to 1e-12 of the value; it is the same at every location.
  Array entropy(const Operand& mu, const Operand& loc = 0) const { return of(Quantity::entropy, {mu, loc}); }
};

extern const Invertible<> norm, expon, cauchy, laplace, logistic, uniform, gumbel_l, gumbel_r;
extern const Invertible<Operand> pareto;  // of the exponent b: from 1 on
// Of the shape a; of df degrees of freedom (chi2, t); and of density exp(-|x|^beta).
extern const Continuous<Operand> gamma, chi2, t, gennorm;
extern const Continuous<Operand, Operand> beta;       // of a and b: on [0, 1]
extern const Continuous<Operand, Operand> truncnorm;  // the normal one between a and b, which may be infinite
extern const Density<Operand> vonmises;               // of the concentration kappa ≥ 0: angles
extern const Density<Operand> wrapcauchy;             // of 0 < c < 1: angles from 0 to 2π

extern const Bernoulli bernoulli;                            // of the probability p of 1
extern const Poisson poisson;                                // of the mean mu
extern const Summed<Operand> geom;                           // the first success of probability p: 1, 2, …
extern const Summed<Operand, Operand> binom, nbinom;         // of n trials, or successes, of probability p
extern const Discrete<Operand, Operand, Operand> betabinom;  // n trials, whose probability is beta(a, b)

// Of vectors. The logarithm of a density, and it.
struct Dirichlet {
  // x has its components along the first axis, all of them or all but the last; alpha is a vector of positive numbers.
  Array logpdf(const Operand& x, const Operand& alpha) const;
  Array pdf(const Operand& x, const Operand& alpha) const;
};
struct Multinomial {
  // The numbers x of n trials' outcomes of probabilities p, along the last axis.
  Array logpmf(const Operand& x, const Operand& n, const Operand& p) const;
  Array pmf(const Operand& x, const Operand& n, const Operand& p) const;
};
struct MultivariateNormal {
  // x and mean have their components along the last axis; cov is (…, n, n), or one variance of all. Of a mean without
  // axes all are numbers. Batches broadcast.
  Array logpdf(const Operand& x, const Operand& mean, const Operand& cov) const;
  Array pdf(const Operand& x, const Operand& mean, const Operand& cov) const;
};
inline constexpr Dirichlet dirichlet;
inline constexpr Multinomial multinomial;
inline constexpr MultivariateNormal multivariate_normal;

// One of the distributions of numbers by its name and its quantity's, "norm" and "logpdf": operands as there, location
// and scale too. Throws std::out_of_range where there is none.
Array distribution(std::string_view name, std::string_view quantity, std::span<const Operand> operands);

}  // namespace tenon::stats
