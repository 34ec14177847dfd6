#include "tenon/base/dtype.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "tenon/base/error.h"

namespace tenon {
namespace {

using enum DTypeKind;
constexpr std::array<DTypeInfo, dtype_count> table{{
    {"bool", 1, boolean},
    {"i8", 1, signed_integer},
    {"i16", 2, signed_integer},
    {"i32", 4, signed_integer},
    {"i64", 8, signed_integer},
    {"u8", 1, unsigned_integer},
    {"u16", 2, unsigned_integer},
    {"u32", 4, unsigned_integer},
    {"u64", 8, unsigned_integer},
    {"f8e8m0fnu", 1, real},
    {"f8e3m4", 1, real},
    {"f8e4m3", 1, real},
    {"f8e4m3b11fnuz", 1, real},
    {"f8e4m3fn", 1, real},
    {"f8e4m3fnuz", 1, real},
    {"f8e5m2", 1, real},
    {"f8e5m2fnuz", 1, real},
    {"f16", 2, real},
    {"bf16", 2, real},
    {"f32", 4, real},
    {"f64", 8, real},
    {"c64", 8, complex},
    {"c128", 16, complex},
}};

std::atomic<bool> widens = true;

// The lattice as edges: bool -> i* -> {u8, i8}; weak types sit below the narrowest strong type of their kind. A join is
// the least common upper bound; here it is computed by rank within kinds and the few crossings between them.
DType join_integers(DType a, DType b) {
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType s = is_signed_integer(a) ? a : b;
  const DType u = is_signed_integer(a) ? b : a;
  if (size_of(s) > size_of(u)) return s;
  switch (size_of(u)) {
    case 1:
      return DType::i16;
    case 2:
      return DType::i32;
    case 4:
      return DType::i64;
    default:
      return DType::f64;  // u64 with a signed integer: no integer holds both; made weak by the caller
  }
}

DType join_reals(DType a, DType b) {
  if (a == b) return a;
  if (size_of(a) == size_of(b)) return DType::f32;  // f16 and bf16
  return size_of(a) > size_of(b) ? a : b;
}

DType join_strong(DType a, DType b) {
  if (a == b) return a;
  if (kind_of(a) > kind_of(b)) std::swap(a, b);
  if (a == DType::bool_) return b;
  if (is_complex(b)) {
    if (is_complex(a)) return DType::c128;
    return a == DType::f64 ? DType::c128 : b;
  }
  if (is_real(b)) return is_real(a) ? join_reals(a, b) : b;
  return join_integers(a, b);
}

// Position of a kind in the order bool < integer < real < complex.
int rank(DType d) {
  switch (kind_of(d)) {
    case boolean:
      return 0;
    case signed_integer:
    case unsigned_integer:
      return 1;
    case real:
      return 2;
    case complex:
      return 3;
  }
  return 0;
}

Promoted meeting(DType a, bool a_weak, DType b, bool b_weak) {
  if (a_weak == b_weak) {
    const DType met = join_strong(a, b);
    const DType joined = met == DType::i64 && a != met && b != met && !widens ? DType::i32 : met;
    const bool u64_crossing = is_integer(a) && is_integer(b) && is_real(joined);
    return {joined, a_weak || u64_crossing};
  }
  const DType strong = a_weak ? b : a;
  const DType weak = a_weak ? a : b;
  if (rank(weak) <= rank(strong)) return {strong, false};
  // The weak operand is of a higher kind: an integer meets a weak float as the default float (weak); a real meets a
  // weak complex as the complex of its own precision.
  if (is_complex(weak)) {
    if (is_real(strong)) return {complex_of(strong), false};
    return {weak, true};
  }
  return {weak, true};  // and bool meets a weak integer
}

}  // namespace

const DTypeInfo& info(DType dtype) { return table[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

DType real_part_of(DType dtype) {
  if (dtype == DType::c64) return DType::f32;
  if (dtype == DType::c128) return DType::f64;
  return dtype;
}

DType complex_of(DType dtype) {
  if (dtype == DType::f64 || dtype == DType::c128) return DType::c128;
  return DType::c64;
}

void let_promotion_widen(bool on) { widens = on; }

Promoted promote(DType a, bool a_weak, DType b, bool b_weak) {
  if (const auto met = try_promote(a, a_weak, b, b_weak)) return *met;
  throw DTypeError(fmt::format("promote: {} and {} have no dtype in which they meet.", name(a), name(b)),
                   "Floats of 8 bits become no other ones by themselves: convert one to the dtype of the other.");
}

std::optional<Promoted> try_promote(DType a, bool a_weak, DType b, bool b_weak) {
  const auto refuses = [](DType narrow, bool narrow_weak, DType other, bool other_weak) {
    if (!is_float8(narrow) || narrow == other) return false;
    return is_complex(other) || (is_real(other) && narrow_weak == other_weak);
  };
  if (refuses(a, a_weak, b, b_weak) || refuses(b, b_weak, a, a_weak)) return std::nullopt;
  return meeting(a, a_weak, b, b_weak);
}

DType unsigned_of(DType d) {
  constexpr DType by_size[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  return by_size[std::countr_zero(size_of(d))];
}

Float16::Float16(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (x >> 16) & 0x8000u;
  const std::uint32_t magnitude = x & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  } else if (magnitude >= 0x477ff000u) {
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // subnormal: let the adder round
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  } else {
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    bits = static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
}

Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

double number_of_code(const FloatFormat& format, std::uint64_t code) {
  if (!format.has_sign()) return std::ldexp(1.0, static_cast<int>(code) - format.bias);
  const std::uint64_t exponent = code >> format.mantissa_bits, mantissa = code & format.mantissas();
  if (exponent == 0) return std::ldexp(static_cast<double>(mantissa), format.least());
  return std::ldexp(static_cast<double>(mantissa + format.mantissas() + 1),
                    static_cast<int>(exponent) - format.bias - format.mantissa_bits);
}
double largest_finite_of(DType real) {
  const FloatFormat format = format_of(real);
  return number_of_code(format, format.largest());
}

namespace {

// The exponent of the nearest power of two: half of the last place carries. Of subnormal numbers those above 2^-127
// become 2^-126, and the others 2^-127, as ml_dtypes has them.
std::uint8_t power_code(const FloatFormat& format, float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t least_normal = 1u << 23;
  if (!(value > 0) || std::isinf(value)) return static_cast<std::uint8_t>(format.nan());
  return static_cast<std::uint8_t>((x + (x < least_normal ? least_normal / 2 - 1 : least_normal / 2)) >> 23);
}

}  // namespace

std::uint8_t float8_code(const FloatFormat& format, float value) {
  if (!format.has_sign()) return power_code(format, value);
  const auto x = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = x & 0x7fffffffu;
  const int dropped = 23 - format.mantissa_bits;
  const std::uint32_t least_normal = static_cast<std::uint32_t>(format.least_normal() + 127) << 23;
  std::uint32_t code = 0;
  if (magnitude > 0x7f800000u) {
    code = static_cast<std::uint32_t>(format.nan());
  } else {
    if (magnitude < least_normal) {  // subnormal: let the adder round
      const auto place = std::bit_cast<float>(static_cast<std::uint32_t>(format.least() + 23 + 127) << 23);
      code =
          std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + place) - std::bit_cast<std::uint32_t>(place);
    } else {
      const std::uint32_t odd = (magnitude >> dropped) & 1u, half = (1u << (dropped - 1)) - 1u;
      code = ((magnitude - least_normal + half + odd) >> dropped) + (1u << format.mantissa_bits);
    }
    if (code > format.largest()) code = static_cast<std::uint32_t>(format.overflow());
  }
  const bool has_sign = format.has_negative_zero() || code != 0;
  return static_cast<std::uint8_t>(code | (has_sign ? (x >> 24) & 0x80u : 0u));
}

float float8_value(const FloatFormat& format, std::uint8_t code) {
  if (!format.has_sign())
    return format.is_nan(code) ? std::bit_cast<float>(0x7fc00000u) : static_cast<float>(number_of_code(format, code));
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80u) << 24, magnitude = code & 0x7fu;
  const auto of_bits = [sign](std::uint32_t bits) { return std::bit_cast<float>(sign | bits); };
  if (format.is_nan(code)) return of_bits(0x7fc00000u);
  if (format.has_infinity() && magnitude == format.exponents()) return of_bits(0x7f800000u);
  const auto number = static_cast<float>(number_of_code(format, magnitude));
  return of_bits(std::bit_cast<std::uint32_t>(number));
}

BFloat16::BFloat16(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u)
    bits = static_cast<std::uint16_t>((x >> 16) | 0x40u);
  else
    bits = static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace tenon
