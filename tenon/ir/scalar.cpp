#include "tenon/ir/scalar.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tenon/base/number_text.h"

namespace tenon {
namespace {

// A float from which a narrower format rounds as it would from the value itself: truncated, with the last bit set where
// something was cut off ("round to odd"; Boldo and Melquiond, 2008).
template <class From>
float rounded_to_odd(From from) {
  const float nearest = static_cast<float>(from);
  const auto exact = static_cast<long double>(from);
  if (std::isnan(nearest) || nearest == exact) return nearest;
  const float truncated = std::abs(nearest) > std::abs(exact) ? std::nextafter(nearest, 0.0f) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(truncated) | 1u);
}

template <class To, class From>
To convert_value(From from) {
  if constexpr (NarrowFloat<From>) {
    return convert_value<To>(static_cast<float>(from));
  } else if constexpr (std::is_same_v<From, std::complex<float>> || std::is_same_v<From, std::complex<double>>) {
    if constexpr (std::is_same_v<To, std::complex<float>> || std::is_same_v<To, std::complex<double>>)
      return To(static_cast<typename To::value_type>(from.real()), static_cast<typename To::value_type>(from.imag()));
    else if constexpr (std::is_same_v<To, bool>)
      return from != From();
    else
      return convert_value<To>(from.real());
  } else if constexpr (std::is_same_v<To, std::complex<float>> || std::is_same_v<To, std::complex<double>>) {
    return To(static_cast<typename To::value_type>(from), 0);
  } else if constexpr (NarrowFloat<To>) {
    return To(rounded_to_odd(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(from)) return 0;
    if (from <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (from >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace

Scalar Scalar::convert(DType dtype) const {
  if (dtype == dtype_) return *this;
  return dispatch(dtype_, [&]<class From>(std::type_identity<From>) {
    const From from = as<From>();
    return dispatch(dtype, [&]<class To>(std::type_identity<To>) { return Scalar(convert_value<To>(from)); });
  });
}

std::complex<double> Scalar::as_complex() const { return convert(DType::c128).as<std::complex<double>>(); }

std::string Scalar::text() const { return number_text(dtype_, bits_.data()); }

Scalar Scalar::parse(std::string_view text, DType dtype) {
  Scalar scalar = zero(dtype);
  parse_number(text, dtype, scalar.bits_.data());
  return scalar;
}

}  // namespace tenon
