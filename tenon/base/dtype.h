// Element types: their names, sizes, kinds and storage; the promotion lattice.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tenon {

enum class DType : std::uint8_t { bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128 };
inline constexpr int dtype_count = 15;

enum class DTypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, real, complex };

// IEEE binary16 as storage; arithmetic happens in float.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
};

// The upper half of a binary32; rounds to nearest even, keeps NaN.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
};

struct DTypeInfo {
  std::string_view name;  // as in the text form: "f32"
  std::uint8_t size;      // bytes of one element
  DTypeKind kind;
};
const DTypeInfo& info(DType dtype);

inline std::string_view name(DType dtype) { return info(dtype).name; }
inline std::size_t size_of(DType dtype) { return info(dtype).size; }
inline DTypeKind kind_of(DType dtype) { return info(dtype).kind; }
inline bool is_complex(DType d) { return kind_of(d) == DTypeKind::complex; }
inline bool is_real(DType d) { return kind_of(d) == DTypeKind::real; }
inline bool is_inexact(DType d) { return is_real(d) || is_complex(d); }
inline bool is_signed_integer(DType d) { return kind_of(d) == DTypeKind::signed_integer; }
inline bool is_unsigned_integer(DType d) { return kind_of(d) == DTypeKind::unsigned_integer; }
inline bool is_integer(DType d) { return is_signed_integer(d) || is_unsigned_integer(d); }
// f16 and bf16 are what memory holds; their values are computed and summed in f32.
constexpr bool is_half(DType d) { return d == DType::f16 || d == DType::bf16; }
// Unsigned integers as wide as a dtype of at most 8 bytes.
DType unsigned_of(DType d);
constexpr DType computed_in(DType d) { return is_half(d) ? DType::f32 : d; }

std::optional<DType> dtype_from_name(std::string_view name);

// f32 of c64, f64 of c128, the dtype itself otherwise; and back.
DType real_part_of(DType dtype);
DType complex_of(DType dtype);

// The dtype two operands meet in. A weak operand (a C++ number, or what was computed from numbers alone) does not
// widen the other one within its kind. Source: JAX's type promotion lattice ("Type promotion semantics").
struct Promoted {
  DType dtype;
  bool weak;
};
Promoted promote(DType a, bool a_weak, DType b, bool b_weak);
// Whether two dtypes of at most 32 bits may meet in one of 64: u32 and a signed integer in i64 (on at first), else in
// i32. For front ends that do without 64-bit data; of the whole process.
void let_promotion_widen(bool on);

// C++ type -> dtype.
template <class T>
inline constexpr std::optional<DType> dtype_of = std::nullopt;
template <>
inline constexpr std::optional<DType> dtype_of<bool> = DType::bool_;
template <>
inline constexpr std::optional<DType> dtype_of<std::int8_t> = DType::i8;
template <>
inline constexpr std::optional<DType> dtype_of<std::int16_t> = DType::i16;
template <>
inline constexpr std::optional<DType> dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr std::optional<DType> dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr std::optional<DType> dtype_of<long long> = DType::i64;
template <>
inline constexpr std::optional<DType> dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr std::optional<DType> dtype_of<std::uint16_t> = DType::u16;
template <>
inline constexpr std::optional<DType> dtype_of<std::uint32_t> = DType::u32;
template <>
inline constexpr std::optional<DType> dtype_of<std::uint64_t> = DType::u64;
template <>
inline constexpr std::optional<DType> dtype_of<unsigned long long> = DType::u64;
template <>
inline constexpr std::optional<DType> dtype_of<Float16> = DType::f16;
template <>
inline constexpr std::optional<DType> dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr std::optional<DType> dtype_of<float> = DType::f32;
template <>
inline constexpr std::optional<DType> dtype_of<double> = DType::f64;
template <>
inline constexpr std::optional<DType> dtype_of<std::complex<float>> = DType::c64;
template <>
inline constexpr std::optional<DType> dtype_of<std::complex<double>> = DType::c128;

template <class T>
concept Element = dtype_of<std::remove_cv_t<T>>.has_value();

// Calls f(std::type_identity<T>{}) with the C++ storage type of a dtype.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return f(std::type_identity<bool>{});
    case DType::i8:
      return f(std::type_identity<std::int8_t>{});
    case DType::i16:
      return f(std::type_identity<std::int16_t>{});
    case DType::i32:
      return f(std::type_identity<std::int32_t>{});
    case DType::i64:
      return f(std::type_identity<std::int64_t>{});
    case DType::u8:
      return f(std::type_identity<std::uint8_t>{});
    case DType::u16:
      return f(std::type_identity<std::uint16_t>{});
    case DType::u32:
      return f(std::type_identity<std::uint32_t>{});
    case DType::u64:
      return f(std::type_identity<std::uint64_t>{});
    case DType::f16:
      return f(std::type_identity<Float16>{});
    case DType::bf16:
      return f(std::type_identity<BFloat16>{});
    case DType::f32:
      return f(std::type_identity<float>{});
    case DType::f64:
      return f(std::type_identity<double>{});
    case DType::c64:
      return f(std::type_identity<std::complex<float>>{});
    case DType::c128:
      return f(std::type_identity<std::complex<double>>{});
  }
  __builtin_unreachable();
}

}  // namespace tenon
