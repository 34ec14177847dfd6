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

// Floats of 8 bits have the names of their exponent and mantissa bits, of the bias where it is another one than half of
// the exponents, and of what they lack: "fn" infinities, "fnuz" infinities and -0, "fnu" infinities, 0 and all signs.
// f8e8m0fnu, powers of two, holds the scales of blocks of other numbers: it is moved, compared and converted, and no
// more.
enum class DType : std::uint8_t {
  bool_,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f8e8m0fnu,
  f8e3m4,
  f8e4m3,
  f8e4m3b11fnuz,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128
};
inline constexpr int dtype_count = 23;

enum class DTypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, real, complex };

// f8, f16 and bf16 are what memory holds; their values are computed and summed in f32.
constexpr bool is_float8(DType d) { return d >= DType::f8e8m0fnu && d <= DType::f8e5m2fnuz; }
constexpr bool is_half(DType d) { return d == DType::f16 || d == DType::bf16; }
constexpr bool is_narrow(DType d) { return is_float8(d) || is_half(d); }
constexpr DType computed_in(DType d) { return is_narrow(d) ? DType::f32 : d; }

// How a real dtype codes numbers: a sign, exponent and mantissa bits. Of exponent 0 numbers are subnormal.
struct FloatFormat {
  // IEEE 754: of the last exponent infinity and NaN. Without infinities ("fn"): all ones are NaN. Without -0 too
  // ("fnuz"): its code is NaN. Powers of two alone ("fnu"): no sign and no 0, all ones are NaN, and the exponent 0 is
  // an ordinary one.
  enum class Specials : std::uint8_t { ieee, nan_alone, nan_for_negative_zero, powers };

  int exponent_bits, mantissa_bits, bias;
  Specials specials = Specials::ieee;

  constexpr bool has_infinity() const { return specials == Specials::ieee; }
  constexpr bool has_negative_zero() const { return has_sign() && specials != Specials::nan_for_negative_zero; }
  constexpr bool has_sign() const { return specials != Specials::powers; }  // and a zero
  constexpr std::uint64_t sign() const { return std::uint64_t(1) << (exponent_bits + mantissa_bits); }
  constexpr std::uint64_t mantissas() const { return (std::uint64_t(1) << mantissa_bits) - 1; }
  constexpr std::uint64_t exponents() const { return sign() - 1 - mantissas(); }
  // The codes of the largest number, of a quiet NaN, and of what lies beyond all numbers: infinity or NaN.
  constexpr std::uint64_t largest() const {
    if (has_infinity()) return exponents() - 1;
    return sign() - (specials == Specials::nan_for_negative_zero ? 1 : 2);
  }
  constexpr std::uint64_t nan() const {
    if (has_infinity()) return exponents() | (std::uint64_t(1) << (mantissa_bits - 1));
    return specials == Specials::nan_for_negative_zero ? sign() : sign() - 1;
  }
  constexpr std::uint64_t overflow() const { return has_infinity() ? exponents() : nan(); }
  constexpr bool is_nan(std::uint64_t code) const {
    return has_negative_zero() ? (code & (sign() - 1)) > (has_infinity() ? exponents() : largest()) : code == nan();
  }
  // The exponents of the least normal number, of the least number, and of the last place of numbers from 1 to 2.
  constexpr int least_normal() const { return (has_sign() ? 1 : 0) - bias; }
  constexpr int least() const { return least_normal() - mantissa_bits; }
  constexpr int epsilon() const { return -mantissa_bits; }
};
// Of f32 of a dtype that is not real.
constexpr FloatFormat format_of(DType d) {
  using enum FloatFormat::Specials;
  switch (d) {
    case DType::f8e8m0fnu:
      return {8, 0, 127, powers};
    case DType::f8e3m4:
      return {3, 4, 3};
    case DType::f8e4m3:
      return {4, 3, 7};
    case DType::f8e4m3b11fnuz:
      return {4, 3, 11, nan_for_negative_zero};
    case DType::f8e4m3fn:
      return {4, 3, 7, nan_alone};
    case DType::f8e4m3fnuz:
      return {4, 3, 8, nan_for_negative_zero};
    case DType::f8e5m2:
      return {5, 2, 15};
    case DType::f8e5m2fnuz:
      return {5, 2, 16, nan_for_negative_zero};
    case DType::f16:
      return {5, 10, 15};
    case DType::bf16:
      return {8, 7, 127};
    case DType::f64:
      return {11, 52, 1023};
    default:
      return {8, 23, 127};
  }
}
// Whether a dtype holds powers of two alone: no signs, and no 0.
constexpr bool is_powers(DType d) { return !format_of(d).has_sign(); }
// What the code of a finite number without its sign stands for.
double number_of_code(const FloatFormat& format, std::uint64_t code);
double largest_finite_of(DType real);

// A float of 8 bits as storage; arithmetic happens in float. Rounds to nearest even. What rounds beyond the largest
// number is infinity, or NaN where there is none. NaN keeps its sign, where it can have one.
// Powers of two: to the nearer one, from half way on, or between the two least, to the larger one, and never below the
// least; 0 and negative numbers are NaN (as ml_dtypes has them).
std::uint8_t float8_code(const FloatFormat& format, float value);
float float8_value(const FloatFormat& format, std::uint8_t code);
template <DType Format>
  requires(is_float8(Format))
struct Float8 {
  std::uint8_t bits = 0;
  Float8() = default;
  explicit Float8(float value) : bits(float8_code(format_of(Format), value)) {}
  explicit operator float() const { return float8_value(format_of(Format), bits); }
};

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
// Whether there is arithmetic of a dtype's numbers, and derivatives of what computes with them: not without a 0.
inline bool is_differentiable(DType d) { return is_inexact(d) && !is_powers(d); }
inline bool is_signed_integer(DType d) { return kind_of(d) == DTypeKind::signed_integer; }
inline bool is_unsigned_integer(DType d) { return kind_of(d) == DTypeKind::unsigned_integer; }
inline bool is_integer(DType d) { return is_signed_integer(d) || is_unsigned_integer(d); }
// Unsigned integers as wide as a dtype of at most 8 bytes.
DType unsigned_of(DType d);

std::optional<DType> dtype_from_name(std::string_view name);

// f32 of c64, f64 of c128, the dtype itself otherwise; and back.
DType real_part_of(DType dtype);
DType complex_of(DType dtype);

// The dtype two operands meet in. A weak operand (a C++ number, or what was computed from numbers alone) does not
// widen the other one within its kind. Source: JAX's type promotion lattice ("Type promotion semantics").
// Floats of 8 bits stay what they are beside booleans, integers and weak real numbers. Throws DTypeError where one
// meets another real or complex dtype, and weak complex numbers; try_promote() gives nothing there.
struct Promoted {
  DType dtype;
  bool weak;
};
Promoted promote(DType a, bool a_weak, DType b, bool b_weak);
std::optional<Promoted> try_promote(DType a, bool a_weak, DType b, bool b_weak);
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
template <DType Format>
inline constexpr std::optional<DType> dtype_of<Float8<Format>> = Format;
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
// What stores f8, f16 or bf16.
template <class T>
concept NarrowFloat = Element<T> && is_narrow(*dtype_of<std::remove_cv_t<T>>);

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
    case DType::f8e8m0fnu:
      return f(std::type_identity<Float8<DType::f8e8m0fnu>>{});
    case DType::f8e3m4:
      return f(std::type_identity<Float8<DType::f8e3m4>>{});
    case DType::f8e4m3:
      return f(std::type_identity<Float8<DType::f8e4m3>>{});
    case DType::f8e4m3b11fnuz:
      return f(std::type_identity<Float8<DType::f8e4m3b11fnuz>>{});
    case DType::f8e4m3fn:
      return f(std::type_identity<Float8<DType::f8e4m3fn>>{});
    case DType::f8e4m3fnuz:
      return f(std::type_identity<Float8<DType::f8e4m3fnuz>>{});
    case DType::f8e5m2:
      return f(std::type_identity<Float8<DType::f8e5m2>>{});
    case DType::f8e5m2fnuz:
      return f(std::type_identity<Float8<DType::f8e5m2fnuz>>{});
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
