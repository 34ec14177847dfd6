// Names, storage and promotion of element types.
#include "tenon/base/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/base/error.h"

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
          EXPECT_EQ(try_promote(a, wi, b, wj).has_value(), try_promote(b, wj, a, wi).has_value());
          if (!try_promote(a, wi, b, wj)) continue;
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

// A format by its definition: the last exponent is infinity and NaN; without infinities all ones are NaN; without -0
// its code is.
struct Plain {
  int bits, fraction, bias;
  bool infinities = true, negative_zero = true;

  int sign() const { return 1 << (bits - 1); }
  double number(int magnitude) const {
    const int exponent = magnitude >> fraction;
    const double significand = magnitude & ((1 << fraction) - 1), one = 1 << fraction;
    return exponent == 0 ? std::ldexp(significand, 1 - bias - fraction)
                         : std::ldexp(one + significand, exponent - bias - fraction);
  }
  double value(int code) const {
    const int magnitude = code & (sign() - 1), most = (1 << (bits - 1 - fraction)) - 1;
    const double one = (code & sign()) != 0 ? -1 : 1;
    if (infinities && magnitude >> fraction == most) return magnitude == most << fraction ? one * INFINITY : NAN;
    if (!negative_zero ? code == sign() : !infinities && magnitude == sign() - 1) return NAN;
    return one * number(magnitude);
  }
};

template <class H>
int code_of(float value) {
  return H(value).bits;
}
template <class H>
float number_of(int code) {
  H h;
  h.bits = static_cast<decltype(H::bits)>(code);
  return static_cast<float>(h);
}

template <class H>
void check_format(const Plain& p) {
  for (int code = 0; code < 2 * p.sign(); ++code) {
    const float f = number_of<H>(code);
    const double expected = p.value(code);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(f)) << code;
      ASSERT_TRUE(std::isnan(number_of<H>(code_of<H>(f)))) << code;
      ASSERT_EQ(code_of<H>(f) & p.sign(), code & p.sign());
      continue;
    }
    ASSERT_EQ(f, expected) << code;
    ASSERT_EQ(code_of<H>(f), code);  // sign of zero included
    if (std::isinf(expected)) continue;
    // Between this value and the next: to the nearer one, half-way to the even one; the code behind the largest number
    // is that of infinity or NaN, as if the exponents went on.
    const int magnitude = code & (p.sign() - 1);
    const double middle = std::copysign((p.number(magnitude) + p.number(magnitude + 1)) / 2, expected);
    const auto narrow = static_cast<float>(middle);
    if (static_cast<double>(narrow) != middle) continue;  // below the smallest binary32
    const int sign = p.negative_zero || magnitude > 0 ? code & p.sign() : 0;
    const int next = magnitude + 1 == p.sign() ? p.sign() : sign | (magnitude + 1);
    ASSERT_EQ(code_of<H>(narrow), magnitude % 2 == 0 ? code : next) << code;
    ASSERT_EQ(code_of<H>(std::nextafter(narrow, 0.f)), code) << code;
    ASSERT_EQ(code_of<H>(std::nextafter(narrow, std::copysign(INFINITY, narrow))), next) << code;
  }
  const int beyond = code_of<H>(INFINITY);
  EXPECT_EQ(std::isinf(number_of<H>(beyond)), p.infinities);
  EXPECT_EQ(std::isnan(number_of<H>(beyond)), !p.infinities);
  EXPECT_EQ(code_of<H>(std::numeric_limits<float>::max()), beyond);
  EXPECT_EQ(code_of<H>(-INFINITY), p.negative_zero ? p.sign() | beyond : beyond);
  EXPECT_EQ(code_of<H>(-std::numeric_limits<float>::denorm_min()), p.negative_zero ? p.sign() : 0);
  EXPECT_EQ(code_of<H>(-0.f), p.negative_zero ? p.sign() : 0);
}

TEST(DTypes, Float16HasEveryValueAndRoundsToEven) { check_format<Float16>({16, 10, 15}); }
TEST(DTypes, BFloat16HasEveryValueAndRoundsToEven) { check_format<BFloat16>({16, 7, 127}); }
TEST(DTypes, FloatsOf8BitsHaveEveryValueAndRoundToEven) {
  check_format<Float8<DType::f8e3m4>>({8, 4, 3});
  check_format<Float8<DType::f8e4m3>>({8, 3, 7});
  check_format<Float8<DType::f8e4m3b11fnuz>>({8, 3, 11, false, false});
  check_format<Float8<DType::f8e4m3fn>>({8, 3, 7, false});
  check_format<Float8<DType::f8e4m3fnuz>>({8, 3, 8, false, false});
  check_format<Float8<DType::f8e5m2>>({8, 2, 15});
  check_format<Float8<DType::f8e5m2fnuz>>({8, 2, 16, false, false});
}

// As ml_dtypes has them: half way up, the least of what is less, NaN of what has no logarithm or is too large.
TEST(DTypes, PowersOfTwoOf8Bits) {
  using Power = Float8<DType::f8e8m0fnu>;
  for (int code = 0; code < 255; ++code) {
    const float power = number_of<Power>(code), half_way = 1.5f * power;
    ASSERT_EQ(power, std::ldexp(1.f, code - 127));
    ASSERT_EQ(code_of<Power>(power), code);
    ASSERT_EQ(code_of<Power>(-power), 255);
    ASSERT_EQ(code_of<Power>(std::nextafter(half_way, 0.f)), code == 0 ? 1 : code);
    ASSERT_EQ(code_of<Power>(half_way), code + 1);
  }
  EXPECT_TRUE(std::isnan(number_of<Power>(255)));
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const float none : {0.f, -0.f, -1.f, inf, -inf, std::numeric_limits<float>::max(), NAN})
    EXPECT_EQ(code_of<Power>(none), 255) << none;
  for (const float least : {std::numeric_limits<float>::denorm_min(), 0x1.fp-128f, 0x1p-127f})
    EXPECT_EQ(code_of<Power>(least), 0) << least;
  EXPECT_EQ(code_of<Power>(std::nextafter(0x1p-127f, 1.f)), 1);
  EXPECT_EQ(largest_finite_of(DType::f8e8m0fnu), 0x1p127);
  EXPECT_EQ(format_of(DType::f8e8m0fnu).least(), -127);
  EXPECT_EQ(format_of(DType::f8e8m0fnu).nan(), 255u);
}

TEST(DTypes, FormatsTellTheirLimits) {
  EXPECT_EQ(largest_finite_of(DType::f8e4m3fn), 448);
  EXPECT_EQ(largest_finite_of(DType::f8e4m3), 240);
  EXPECT_EQ(largest_finite_of(DType::f8e4m3b11fnuz), 30);
  EXPECT_EQ(largest_finite_of(DType::f8e3m4), 15.5);
  EXPECT_EQ(largest_finite_of(DType::f8e5m2), 57344);
  EXPECT_EQ(largest_finite_of(DType::f16), 65504);
  EXPECT_EQ(largest_finite_of(DType::bf16), 0x1.fep127);
  EXPECT_EQ(largest_finite_of(DType::f32), double{std::numeric_limits<float>::max()});
  EXPECT_EQ(largest_finite_of(DType::f64), std::numeric_limits<double>::max());
  EXPECT_EQ(format_of(DType::f64).nan(), 0x7ff8000000000000u);
  EXPECT_EQ(format_of(DType::f32).least(), -149);
}

// As in JAX 0.10: a float of 8 bits stays what it is beside booleans, integers and weak real numbers, and meets no
// other float.
TEST(DTypes, FloatsOf8BitsMeetNoOtherFloats) {
  const auto met = [](DType a, DType b, bool b_weak) { return try_promote(a, false, b, b_weak); };
  for (int i = 0; i < dtype_count; ++i)
    for (int k = 0; k < dtype_count; ++k) {
      const auto a = static_cast<DType>(i), b = static_cast<DType>(k);
      if (!is_float8(a)) continue;
      const bool is_other_float = is_inexact(b) && a != b;
      EXPECT_EQ(met(a, b, false).has_value(), !is_other_float) << name(a) << " " << name(b);
      if (!is_other_float) {
        EXPECT_EQ(met(a, b, false)->dtype, a);
      }
      if (is_float8(b)) continue;  // no number is weak and of 8 bits
      EXPECT_EQ(met(a, b, true).has_value(), !is_complex(b)) << name(a) << " " << name(b);
      if (!is_complex(b)) {
        EXPECT_EQ(met(a, b, true)->dtype, a);
        EXPECT_FALSE(met(a, b, true)->weak);
      }
    }
  EXPECT_THAT(
      [] { promote(DType::f8e4m3fn, false, DType::f32, false); },
      testing::ThrowsMessage<DTypeError>(testing::HasSubstr("f8e4m3fn and f32 have no dtype in which they meet")));
}

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
