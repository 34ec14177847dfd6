// What std::sin(x) of an Array says: a sentence instead of all that <cmath> has.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "tenon/ir/array.h"

namespace tenon::api_detail {

template <int>
inline constexpr bool is_of_arrays = false;

// Each is one conversion away from an Array, as Operand is: where `using std::sin;` lets both be found, the functions
// of arrays win, since they are no templates.
struct OfArray {
  template <std::same_as<Array> A>
  OfArray(const A&) {}
};
struct OfArrayOrNumber {
  template <class T>
    requires std::same_as<T, Array> || std::is_arithmetic_v<T>
  OfArrayOrNumber(const T&) {}
};

}  // namespace tenon::api_detail

// Overloads that take nothing but Arrays: no call that is right without them means anything else.
#define TENON_SAY_INSTEAD(name, instead)                                                                     \
  static_assert(tenon::api_detail::is_of_arrays<never>,                                                      \
                "std::" #name " takes numbers, not Arrays: write " instead ", Tenon's function of Arrays."); \
  return {};
#define TENON_OF_ONE(name, instead)                      \
  template <int never = 0>                               \
  tenon::Array name(const tenon::api_detail::OfArray&) { \
    TENON_SAY_INSTEAD(name, instead)                     \
  }
#define TENON_OF_TWO(name, instead)                                                                         \
  template <int never = 0>                                                                                  \
  tenon::Array name(const tenon::api_detail::OfArrayOrNumber&, const tenon::api_detail::OfArrayOrNumber&) { \
    TENON_SAY_INSTEAD(name, instead)                                                                        \
  }

namespace std {

TENON_OF_ONE(abs, "tenon::abs(x)")
TENON_OF_ONE(acos, "tenon::acos(x)")
TENON_OF_ONE(asin, "tenon::asin(x)")
TENON_OF_ONE(atan, "tenon::atan(x)")
TENON_OF_ONE(ceil, "tenon::ceil(x)")
TENON_OF_ONE(cos, "tenon::cos(x)")
TENON_OF_ONE(cosh, "tenon::cosh(x)")
TENON_OF_ONE(erf, "tenon::erf(x)")
TENON_OF_ONE(erfc, "tenon::erfc(x)")
TENON_OF_ONE(exp, "tenon::exp(x)")
TENON_OF_ONE(expm1, "tenon::expm1(x)")
TENON_OF_ONE(floor, "tenon::floor(x)")
TENON_OF_ONE(log, "tenon::log(x)")
TENON_OF_ONE(log1p, "tenon::log1p(x)")
TENON_OF_ONE(round, "tenon::round(x)")
TENON_OF_ONE(sin, "tenon::sin(x)")
TENON_OF_ONE(sinh, "tenon::sinh(x)")
TENON_OF_ONE(sqrt, "tenon::sqrt(x)")
TENON_OF_ONE(tan, "tenon::tan(x)")
TENON_OF_ONE(tanh, "tenon::tanh(x)")
TENON_OF_ONE(fabs, "tenon::abs(x)")
TENON_OF_ONE(exp2, "tenon::exp2(x)")
TENON_OF_ONE(log2, "tenon::log2(x)")
TENON_OF_ONE(log10, "tenon::log10(x)")
TENON_OF_ONE(isnan, "tenon::is_nan(x)")
TENON_OF_ONE(isfinite, "tenon::is_finite(x)")
TENON_OF_TWO(pow, "tenon::pow(x, y)")
TENON_OF_TWO(atan2, "tenon::atan2(y, x)")
TENON_OF_TWO(fmax, "tenon::max(x, y)")
TENON_OF_TWO(fmin, "tenon::min(x, y)")
TENON_OF_TWO(fmod, "x % y")
TENON_OF_TWO(hypot, "tenon::hypot(x, y)")

}  // namespace std

#undef TENON_OF_TWO
#undef TENON_OF_ONE
#undef TENON_SAY_INSTEAD
