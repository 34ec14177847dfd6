#include "tenon/base/number_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/base/error.h"

namespace tenon {
namespace {

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
template <NarrowFloat T>
constexpr auto narrow_nan = static_cast<decltype(T::bits)>(format_of(*dtype_of<T>).nan());

template <NarrowFloat T>
std::string narrow_text(T value) {
  const auto wide = static_cast<float>(value);
  if (!std::isnan(wide)) return real_text(wide);
  return value.bits == narrow_nan<T> ? "nan" : fmt::format("nan:{:0{}x}", value.bits, 2 * sizeof value);
}

template <NarrowFloat T>
T parse_narrow(std::string_view text) {
  if (!text.starts_with("nan")) return T(parse_real<float>(text));
  T value;
  value.bits = narrow_nan<T>;
  if (text == "nan") return value;
  const auto hex = text.substr(std::min<std::size_t>(text.size(), 4));
  const auto [end, failure] = std::from_chars(hex.data(), hex.data() + hex.size(), value.bits, 16);
  if (text.starts_with("nan:") && failure == std::errc() && end == hex.data() + hex.size() &&
      std::isnan(static_cast<float>(value)))
    return value;
  throw ParseError(fmt::format("'{}' is not a NaN.", text));
}

}  // namespace

std::string number_text(DType dtype, const std::byte* bits) {
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) -> std::string {
    T value;
    std::memcpy(&value, bits, sizeof value);
    if constexpr (std::is_same_v<T, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      return fmt::format("{}", +value);
    else if constexpr (std::is_floating_point_v<T>)
      return real_text(value);
    else if constexpr (NarrowFloat<T>)
      return narrow_text(value);
    else
      return "(" + real_text(value.real()) + "," + real_text(value.imag()) + ")";
  });
}

void parse_number(std::string_view text, DType dtype, std::byte* bits) {
  const auto put = [&](auto value) { std::memcpy(bits, &value, sizeof value); };
  dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "false") throw ParseError(fmt::format("'{}' is not a bool.", text));
      put(text == "true");
    } else if constexpr (std::is_integral_v<T>) {
      T value = 0;
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (failure != std::errc() || end != text.data() + text.size())
        throw ParseError(fmt::format("'{}' is not a {}.", text, tenon::name(dtype)));
      put(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      put(parse_real<T>(text));
    } else if constexpr (NarrowFloat<T>) {
      put(parse_narrow<T>(text));
    } else {
      const auto comma = text.find(',');
      if (text.size() < 2 || text.front() != '(' || text.back() != ')' || comma == std::string_view::npos)
        throw ParseError(fmt::format("'{}' is not a complex number; write (re,im).", text));
      using Part = typename T::value_type;
      put(T(parse_real<Part>(text.substr(1, comma - 1)),
            parse_real<Part>(text.substr(comma + 1, text.size() - comma - 2))));
    }
  });
}

}  // namespace tenon
