#include "tenon/ir/scalar.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

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
  if constexpr (std::is_same_v<From, Float16> || std::is_same_v<From, BFloat16>) {
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
  } else if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>) {
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

template <class T>
std::string real_text(T value) {
  if (std::isnan(value)) {
    // The payload is kept: NaNs are told apart by bits.
    if constexpr (sizeof(T) == 4) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      return bits == 0x7fc00000u ? "nan" : fmt::format("nan:{:08x}", bits);
    } else {
      const auto bits = std::bit_cast<std::uint64_t>(value);
      return bits == 0x7ff8000000000000ull ? "nan" : fmt::format("nan:{:016x}", bits);
    }
  }
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class T>
T parse_real(std::string_view text) {
  if (text == "nan")
    return std::bit_cast<T>(std::conditional_t < sizeof(T) == 4, std::uint32_t,
                            std::uint64_t > (sizeof(T) == 4 ? 0x7fc00000u : 0x7ff8000000000000ull));
  if (text.starts_with("nan:")) {
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> bits = 0;
    const auto hex = text.substr(4);
    const auto [end, failure] = std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
    if (failure == std::errc() && end == hex.data() + hex.size() && std::isnan(std::bit_cast<T>(bits)))
      return std::bit_cast<T>(bits);
    throw ParseError(fmt::format("'{}' is not a NaN.", text));
  }
  if (text == "inf") return std::numeric_limits<T>::infinity();
  if (text == "-inf") return -std::numeric_limits<T>::infinity();
  T value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    throw ParseError(fmt::format("'{}' is not a number that fits.", text));
  return value;
}

// The narrow formats go through float, but for their NaNs, which keep bits of their own.
template <class T>
constexpr std::uint16_t half_nan = std::is_same_v<T, Float16> ? 0x7e00u : 0x7fc0u;

template <class T>
std::string half_text(T value) {
  const auto wide = static_cast<float>(value);
  if (!std::isnan(wide)) return real_text(wide);
  return value.bits == half_nan<T> ? "nan" : fmt::format("nan:{:04x}", value.bits);
}

template <class T>
T parse_half(std::string_view text) {
  if (!text.starts_with("nan")) return T(parse_real<float>(text));
  T value;
  value.bits = half_nan<T>;
  if (text == "nan") return value;
  const auto hex = text.substr(std::min<std::size_t>(text.size(), 4));
  const auto [end, failure] = std::from_chars(hex.data(), hex.data() + hex.size(), value.bits, 16);
  if (text.starts_with("nan:") && failure == std::errc() && end == hex.data() + hex.size() &&
      std::isnan(static_cast<float>(value)))
    return value;
  throw ParseError(fmt::format("'{}' is not a NaN.", text));
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

std::string Scalar::text() const {
  return dispatch(dtype_, [&]<class T>(std::type_identity<T>) -> std::string {
    const T value = as<T>();
    if constexpr (std::is_same_v<T, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      return fmt::format("{}", +value);
    else if constexpr (std::is_floating_point_v<T>)
      return real_text(value);
    else if constexpr (is_half(*dtype_of<T>))
      return half_text(value);
    else
      return "(" + real_text(value.real()) + "," + real_text(value.imag()) + ")";
  });
}

Scalar Scalar::parse(std::string_view text, DType dtype) {
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) -> Scalar {
    if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "false") throw ParseError(fmt::format("'{}' is not a bool.", text));
      return Scalar(text == "true");
    } else if constexpr (std::is_integral_v<T>) {
      T value = 0;
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (failure != std::errc() || end != text.data() + text.size())
        throw ParseError(fmt::format("'{}' is not a {}.", text, tenon::name(dtype)));
      return Scalar(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return Scalar(parse_real<T>(text));
    } else if constexpr (is_half(*dtype_of<T>)) {
      return Scalar(parse_half<T>(text));
    } else {
      const auto comma = text.find(',');
      if (text.size() < 2 || text.front() != '(' || text.back() != ')' || comma == std::string_view::npos)
        throw ParseError(fmt::format("'{}' is not a complex number; write (re,im).", text));
      using Part = typename T::value_type;
      return Scalar(T(parse_real<Part>(text.substr(1, comma - 1)),
                      parse_real<Part>(text.substr(comma + 1, text.size() - comma - 2))));
    }
  });
}

}  // namespace tenon
