#include "tenon/base/dtype.h"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

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

BFloat16::BFloat16(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u)
    bits = static_cast<std::uint16_t>((x >> 16) | 0x40u);
  else
    bits = static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace tenon
