// Names, storage and promotion of element types.
#include "tenon/base/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace tenon {
namespace {

// "Type promotion semantics" of JAX's documentation, whose order of rows this table keeps; * marks a weak type.
constexpr std::string_view jax_table = R"(
     b1   u1   u2   u4   u8   i1   i2   i4   i8   bf   f2   f4   f8   c4   c8   i*   f*   c*
b1   b1   u1   u2   u4   u8   i1   i2   i4   i8   bf   f2   f4   f8   c4   c8   i*   f*   c*
u1   u1   u1   u2   u4   u8   i2   i2   i4   i8   bf   f2   f4   f8   c4   c8   u1   f*   c*
u2   u2   u2   u2   u4   u8   i4   i4   i4   i8   bf   f2   f4   f8   c4   c8   u2   f*   c*
u4   u4   u4   u4   u4   u8   i8   i8   i8   i8   bf   f2   f4   f8   c4   c8   u4   f*   c*
u8   u8   u8   u8   u8   u8   f*   f*   f*   f*   bf   f2   f4   f8   c4   c8   u8   f*   c*
i1   i1   i2   i4   i8   f*   i1   i2   i4   i8   bf   f2   f4   f8   c4   c8   i1   f*   c*
i2   i2   i2   i4   i8   f*   i2   i2   i4   i8   bf   f2   f4   f8   c4   c8   i2   f*   c*
i4   i4   i4   i4   i8   f*   i4   i4   i4   i8   bf   f2   f4   f8   c4   c8   i4   f*   c*
i8   i8   i8   i8   i8   f*   i8   i8   i8   i8   bf   f2   f4   f8   c4   c8   i8   f*   c*
bf   bf   bf   bf   bf   bf   bf   bf   bf   bf   bf   f4   f4   f8   c4   c8   bf   bf   c4
f2   f2   f2   f2   f2   f2   f2   f2   f2   f2   f4   f2   f4   f8   c4   c8   f2   f2   c4
f4   f4   f4   f4   f4   f4   f4   f4   f4   f4   f4   f4   f4   f8   c4   c8   f4   f4   c4
f8   f8   f8   f8   f8   f8   f8   f8   f8   f8   f8   f8   f8   f8   c8   c8   f8   f8   c8
c4   c4   c4   c4   c4   c4   c4   c4   c4   c4   c4   c4   c4   c8   c4   c8   c4   c4   c4
c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8   c8
i*   i*   u1   u2   u4   u8   i1   i2   i4   i8   bf   f2   f4   f8   c4   c8   i*   f*   c*
f*   f*   f*   f*   f*   f*   f*   f*   f*   f*   bf   f2   f4   f8   c4   c8   f*   f*   c*
c*   c*   c*   c*   c*   c*   c*   c*   c*   c*   c4   c4   c4   c8   c4   c8   c*   c*   c*
)";

// i*, f* and c* have the default precision: what a C++ number becomes when it meets nothing else. Where u64 and a
// signed integer make f*, it is f64, as in NumPy and in JAX with 64 bits.
Promoted named(const std::string& word, DType weak_integer, DType weak_float) {
  static const std::array<std::pair<const char*, DType>, 15> names{{{"b1", DType::bool_},
                                                                    {"u1", DType::u8},
                                                                    {"u2", DType::u16},
                                                                    {"u4", DType::u32},
                                                                    {"u8", DType::u64},
                                                                    {"i1", DType::i8},
                                                                    {"i2", DType::i16},
                                                                    {"i4", DType::i32},
                                                                    {"i8", DType::i64},
                                                                    {"bf", DType::bf16},
                                                                    {"f2", DType::f16},
                                                                    {"f4", DType::f32},
                                                                    {"f8", DType::f64},
                                                                    {"c4", DType::c64},
                                                                    {"c8", DType::c128}}};
  if (word == "i*") return {weak_integer, true};
  if (word == "f*") return {weak_float, true};
  if (word == "c*") return {complex_of(weak_float), true};
  for (const auto& [name, dtype] : names)
    if (name == word) return {dtype, false};
  ADD_FAILURE() << word;
  return {};
}

TEST(DTypes, PromotionIsThatOfJAX) {
  std::istringstream lines{std::string(jax_table.substr(1))};
  std::string line, word;
  std::getline(lines, line);
  std::vector<std::string> columns;
  for (std::istringstream words(line); words >> word;) columns.push_back(word);
  ASSERT_EQ(columns.size(), 18u);
  int rows = 0;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string row;
    words >> row;
    const Promoted a = named(row, DType::i32, DType::f32);
    for (const std::string& column : columns) {
      ASSERT_TRUE(words >> word);
      const Promoted b = named(column, DType::i32, DType::f32);
      const bool integers = is_integer(a.dtype) && is_integer(b.dtype);
      const Promoted expected = named(word, DType::i32, integers ? DType::f64 : DType::f32);
      const Promoted got = promote(a.dtype, a.weak, b.dtype, b.weak);
      EXPECT_EQ(name(got.dtype), name(expected.dtype)) << row << " with " << column;
      EXPECT_EQ(got.weak, expected.weak) << row << " with " << column;
    }
    ++rows;
  }
  EXPECT_EQ(rows, 18);
}

// What any table of promotion must be, for weak types of every width too.
TEST(DTypes, PromotionIsSymmetricAndIdempotent) {
  for (int i = 0; i < dtype_count; ++i)
    for (int j = 0; j < dtype_count; ++j)
      for (const bool wi : {false, true})
        for (const bool wj : {false, true}) {
          const auto a = static_cast<DType>(i), b = static_cast<DType>(j);
          const Promoted ab = promote(a, wi, b, wj), ba = promote(b, wj, a, wi);
          EXPECT_EQ(ab.dtype, ba.dtype) << name(a) << wi << " " << name(b) << wj;
          EXPECT_EQ(ab.weak, ba.weak) << name(a) << wi << " " << name(b) << wj;
          if (i == j) {
            EXPECT_EQ(ab.dtype, a);
          }
          if (wi && wj) {
            EXPECT_TRUE(ab.weak);
          }
        }
}

TEST(DTypes, NamesReadBack) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto d = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(d)), d);
    dispatch(d, [&]<class T>(std::type_identity<T>) {
      EXPECT_EQ(dtype_of<T>, d);
      EXPECT_EQ(sizeof(T), size_of(d));
    });
    EXPECT_EQ(real_part_of(complex_of(d)), d == DType::f64 || d == DType::c128 ? DType::f64 : DType::f32);
  }
  EXPECT_EQ(dtype_from_name("f33"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

// The value of 16 bits by the definition of the format: `fraction` bits of fraction, exponents biased by `bias`.
double value_of(std::uint16_t bits, int fraction, int bias) {
  const int exponent = (bits & 0x7fff) >> fraction, most = (1 << (15 - fraction)) - 1;
  const double significand = bits & ((1 << fraction) - 1), sign = bits >> 15 ? -1 : 1, one = 1 << fraction;
  if (exponent == most) return significand == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(significand, 1 - bias - fraction);
  return sign * std::ldexp(one + significand, exponent - bias - fraction);
}

template <class H>
H of_bits(unsigned bits) {
  H h;
  h.bits = static_cast<std::uint16_t>(bits);
  return h;
}

template <class H>
void check_format(int fraction, int bias) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto h = of_bits<H>(bits);
    const auto f = static_cast<float>(h);
    const double expected = value_of(h.bits, fraction, bias);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(f)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(H(f)))) << bits;
      ASSERT_EQ(H(f).bits >> 15, bits >> 15);
      continue;
    }
    ASSERT_EQ(f, expected) << bits;
    ASSERT_EQ(H(f).bits, bits);  // sign of zero included
    // Between this value and the next: to the nearer one, half-way to the even one, overflow to infinity.
    const unsigned next = bits + 1;
    if ((bits & 0x7fff) == 0x7fff || (next & 0x7fff) == 0 || std::isinf(expected)) continue;
    double above = value_of(static_cast<std::uint16_t>(next), fraction, bias);
    if (std::isinf(above))  // as if the exponents went on
      above = std::copysign(std::ldexp(1, (1 << (15 - fraction)) - 1 - bias), expected);
    const auto middle = static_cast<float>((expected + above) / 2);
    if (static_cast<double>(middle) != (expected + above) / 2) continue;  // below the smallest binary32
    ASSERT_EQ(H(middle).bits, bits % 2 == 0 ? bits : next) << bits;
    ASSERT_EQ(H(std::nextafter(middle, static_cast<float>(expected))).bits, bits) << bits;
    ASSERT_EQ(H(std::nextafter(middle, std::copysign(INFINITY, middle))).bits, next) << bits;
  }
}

TEST(DTypes, Float16HasEveryValueAndRoundsToEven) { check_format<Float16>(10, 15); }
TEST(DTypes, BFloat16HasEveryValueAndRoundsToEven) { check_format<BFloat16>(7, 127); }

TEST(DTypes, HalvesAtTheirLimits) {
  EXPECT_EQ(Float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.f).bits, 0x7c00);
  EXPECT_EQ(Float16(-INFINITY).bits, 0xfc00);
  EXPECT_EQ(Float16(0x1p-25f).bits, 0);  // half of the least: to even
  EXPECT_EQ(Float16(0x1.000002p-25f).bits, 1);
  EXPECT_EQ(Float16(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  // A NaN whose payload is in the lower half must not become an infinity.
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace tenon
