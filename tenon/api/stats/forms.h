// From a distribution's standard formulas to its functions of location and scale.
//
// A distribution is a struct of formulas of the standard variate z and its parameters s, which are asked for only
// inside of the support and of parameters that are valid:
//   name, shapes, usual[]      its name, its number of parameters, and valid ones
//   valid(s)                   which parameters are valid; absent: all
//   below(z, s), above(z, s)   which z lie outside of the support; absent: none
//   inner(s)                   a number inside of it
//   logpdf, cdf, sf, logcdf, logsf (z, s); ppf, isf (q, s)
// Those of cdf and sf may be absent where the other or its logarithm is there.
#pragma once

#include <array>

#include "tenon/api/special/function.h"
#include "tenon/api/stats.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::stats {

using special::In;
using special::infinity;
using special::nan;
using special::SpecialFunction;

// log(1 - exp(-y)) of y ≥ 0.
Array log_of_rest(const Array& y);

template <class D>
struct Given {
  static constexpr std::size_t n = D::shapes;
  // The operands are the variate, the parameters, the location and, of continuous ones, the scale.
  Given(In in, bool has_scale) : variate(in[0]), loc(in[1 + n]) {
    const Array scale_given = has_scale ? in[2 + n] : ones_like(loc);
    valid = scale_given > 0.0;
    if constexpr (requires { D::valid(in); }) valid = valid & D::valid(in.subspan(1, n));
    if constexpr (n > 0)
      for (std::size_t i = 0; i < n; ++i) s.push_back(where(valid, in[1 + i], D::usual[i]));
    scale = where(valid, scale_given, 1.0);
  }
  Array variate, loc, scale, valid;
  Arrays s;
};

// Where a variate lies, and a standard one inside of the support where it is not.
template <class D>
struct Placed : Given<D> {
  Placed(In in, bool has_scale) : Given<D>(in, has_scale) {
    const Array standard = (this->variate - this->loc) / this->scale;
    if (!has_scale) this->valid = this->valid & !is_nan(standard);
    const auto never = [&] { return zeros_like(standard) > 1.0; };
    if constexpr (requires { D::below(standard, in); })
      below = D::below(standard, this->s);
    else
      below = never();
    if constexpr (requires { D::above(standard, in); })
      above = D::above(standard, this->s);
    else
      above = never();
    if constexpr (requires { D::inner(in); })
      z = where(below | above, D::inner(this->s), standard);
    else
      z = standard;
  }
  Array choose(const Array& inside, double at_below, double at_above) const {
    return where(this->valid, where(below, at_below, where(above, at_above, inside)), nan);
  }
  Array below, above, z;
};

template <class D>
Array cdf_inside(const Array& z, In s) {
  if constexpr (requires { D::cdf(z, s); })
    return D::cdf(z, s);
  else if constexpr (requires { D::logcdf(z, s); })
    return exp(D::logcdf(z, s));
  else
    return 1.0 - D::sf(z, s);
}
template <class D>
Array sf_inside(const Array& z, In s) {
  if constexpr (requires { D::sf(z, s); })
    return D::sf(z, s);
  else if constexpr (requires { D::logsf(z, s); })
    return exp(D::logsf(z, s));
  else
    return 1.0 - D::cdf(z, s);
}

// The logarithm of a probability whose rest to 1 has a formula too: near 1 that tells it.
template <class D>
Array log_of_sum(const Array& probability, const Array& z, In s, Array rest_of(const Array& z, In s)) {
  constexpr bool both = requires { D::cdf(z, s), D::sf(z, s); };
  if constexpr (!both) return log(probability);
  const Array most = probability > 0.5;
  return where(most, log1p(-where(most, rest_of(z, s), 0.5)), log(where(most, 0.5, probability)));
}

template <class D>
struct ContinuousForms {
  static Array logpdf(In in) {
    const Placed<D> at(in, true);
    return at.choose(D::logpdf(at.z, at.s) - log(at.scale), -infinity, -infinity);
  }
  static Array pdf(In in) { return exp(logpdf(in)); }
  static Array cdf(In in) {
    const Placed<D> at(in, true);
    return at.choose(cdf_inside<D>(at.z, at.s), 0.0, 1.0);
  }
  static Array sf(In in) {
    const Placed<D> at(in, true);
    return at.choose(sf_inside<D>(at.z, at.s), 1.0, 0.0);
  }
  static Array logcdf(In in) {
    const Placed<D> at(in, true);
    if constexpr (requires { D::logcdf(at.z, at.s); })
      return at.choose(D::logcdf(at.z, at.s), -infinity, 0.0);
    else
      return at.choose(log_of_sum<D>(cdf_inside<D>(at.z, at.s), at.z, at.s, sf_inside<D>), -infinity, 0.0);
  }
  static Array logsf(In in) {
    const Placed<D> at(in, true);
    if constexpr (requires { D::logsf(at.z, at.s); })
      return at.choose(D::logsf(at.z, at.s), 0.0, -infinity);
    else
      return at.choose(log_of_sum<D>(sf_inside<D>(at.z, at.s), at.z, at.s, cdf_inside<D>), 0.0, -infinity);
  }
  template <Array (*quantile)(const Array& q, In s)>
  static Array of_probability(In in) {
    const Given<D> given(in, true);
    const Array wrong = (given.variate < 0.0) | (given.variate > 1.0);
    const Array made = quantile(where(wrong, 0.5, given.variate), given.s);
    return where(wrong | !given.valid, nan, given.loc + given.scale * made);
  }
};

template <class D>
struct DiscreteForms {
  static Array logpdf(In in) {
    const Placed<D> at(in, false);
    const Array between = floor(at.z) != at.z;
    return where(between & at.valid, -infinity,
                 at.choose(D::logpdf(where(between, D::inner(at.s), at.z), at.s), -infinity, -infinity));
  }
  static Array pdf(In in) { return exp(logpdf(in)); }
  static Array cdf(In in) {
    const Placed<D> at(in, false);
    return at.choose(cdf_inside<D>(floor(at.z), at.s), 0.0, 1.0);
  }
  static Array sf(In in) {
    const Placed<D> at(in, false);
    return at.choose(sf_inside<D>(floor(at.z), at.s), 1.0, 0.0);
  }
};

// "norm.logpdf"
constexpr std::array<char, 32> joined(const char* name, const char* quantity) {
  std::array<char, 32> made{};
  std::size_t n = 0;
  for (; *name != 0; ++name) made[n++] = *name;
  made[n++] = '.';
  for (; *quantity != 0; ++quantity) made[n++] = *quantity;
  return made;
}

// The functions of a distribution, each by its formula.
template <class D>
struct FunctionsOf {
  using Forms = ContinuousForms<D>;
  static constexpr auto name_of_logpdf = joined(D::name, "logpdf"), name_of_pdf = joined(D::name, "pdf"),
                        name_of_cdf = joined(D::name, "cdf"), name_of_logcdf = joined(D::name, "logcdf"),
                        name_of_sf = joined(D::name, "sf"), name_of_logsf = joined(D::name, "logsf"),
                        name_of_ppf = joined(D::name, "ppf"), name_of_isf = joined(D::name, "isf");
  static constinit inline const SpecialFunction logpdf{name_of_logpdf.data(), Forms::logpdf};
  static constinit inline const SpecialFunction pdf{name_of_pdf.data(), Forms::pdf};
  static constexpr bool is_summed = requires(const Array& z, In s) { D::cdf(z, s); } || requires(const Array& z, In s) {
    D::sf(z, s);
  } || requires(const Array& z, In s) { D::logcdf(z, s); };
  static constexpr bool is_invertible = requires(const Array& q, In s) { D::ppf(q, s); };
  struct OfSums {
    static constinit inline const SpecialFunction cdf{name_of_cdf.data(), Forms::cdf};
    static constinit inline const SpecialFunction logcdf{name_of_logcdf.data(), Forms::logcdf};
    static constinit inline const SpecialFunction sf{name_of_sf.data(), Forms::sf};
    static constinit inline const SpecialFunction logsf{name_of_logsf.data(), Forms::logsf};
  };
  struct OfQuantiles {
    static constinit inline const SpecialFunction ppf{name_of_ppf.data(), Forms::template of_probability<D::ppf>};
    static constinit inline const SpecialFunction isf{name_of_isf.data(), Forms::template of_probability<D::isf>};
  };
  static constexpr Distribution::Functions functions() {
    Distribution::Functions made{&logpdf, &pdf};
    if constexpr (is_summed) made = {&logpdf, &pdf, &OfSums::cdf, &OfSums::logcdf, &OfSums::sf, &OfSums::logsf};
    if constexpr (is_invertible) made[6] = &OfQuantiles::ppf, made[7] = &OfQuantiles::isf;
    return made;
  }
  static constexpr Distribution::Functions all = functions();
};
template <class D>
struct DiscreteFunctionsOf {
  using Forms = DiscreteForms<D>;
  static constexpr auto name_of_logpmf = joined(D::name, "logpmf"), name_of_pmf = joined(D::name, "pmf"),
                        name_of_cdf = joined(D::name, "cdf"), name_of_sf = joined(D::name, "sf");
  static constinit inline const SpecialFunction logpmf{name_of_logpmf.data(), Forms::logpdf};
  static constinit inline const SpecialFunction pmf{name_of_pmf.data(), Forms::pdf};
  struct OfSums {
    static constinit inline const SpecialFunction cdf{name_of_cdf.data(), Forms::cdf};
    static constinit inline const SpecialFunction sf{name_of_sf.data(), Forms::sf};
  };
  static constexpr Distribution::Functions functions() {
    Distribution::Functions made{&logpmf, &pmf};
    if constexpr (requires(const Array& z, In s) { D::cdf(z, s); }) made[2] = &OfSums::cdf, made[4] = &OfSums::sf;
    return made;
  }
  static constexpr Distribution::Functions all = functions();
};

}  // namespace tenon::stats
