// Bits of numbers, and floats next to one another: against memory, the C library, the order of all numbers of 8 and 16
// bits, and the formats that conversions round to.
#include "tenon/ops/elementwise/float_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/api/jit.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"
#include "tests/ops/independent.h"

namespace tenon {
namespace {

using namespace independent;

// The result by the reference evaluator and by native code.
template <class F>
std::vector<Buffer> both_ways(F f, const Array& x, const Array& y) {
  std::vector<Buffer> results;
  {
    const ByOracle oracle;
    results.push_back(f(x, y).to_buffer());
  }
  results.push_back(jit(f)(x, y).to_buffer());
  return results;
}

template <class T>
void expect_bits(const std::vector<Buffer>& results, const std::vector<T>& want) {
  for (const Buffer& got : results) {
    ASSERT_EQ(got.elements(), static_cast<std::int64_t>(want.size()));
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(std::memcmp(got.data() + i * sizeof(T), &want[i], sizeof(T)), 0) << "element " << i;
  }
}

// Of 8 or 16 bits.
template <class T>
std::vector<T> all_codes() {
  using Code = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
  std::vector<T> all;
  for (std::uint32_t bits = 0; bits <= std::numeric_limits<Code>::max(); ++bits)
    all.push_back(std::bit_cast<T>(static_cast<Code>(bits)));
  return all;
}

TEST(Bitcast, KeepsTheBytes) {
  const std::vector<std::uint16_t> words = all_codes<std::uint16_t>();
  const Array x = Array(buffer_of(words));
  for (const DType d : {DType::f16, DType::bf16, DType::i16, DType::u8, DType::f8e4m3fn, DType::f8e5m2fnuz}) {
    const auto there = [d](const Array& a, const Array&) { return bitcast(a, d); };
    const auto back = [](const Array& a, const Array&) { return bitcast(a, DType::u16); };
    for (const Buffer& made : both_ways(there, x, x)) {
      ASSERT_EQ(std::memcmp(made.data(), words.data(), 2 * words.size()), 0) << name(d);
      for (const Buffer& again : both_ways(back, Array(made), x))
        ASSERT_EQ(std::memcmp(again.data(), words.data(), 2 * words.size()), 0) << name(d);
    }
  }
}

TEST(Bitcast, ASmallerDTypeIsALastAxis) {
  const Array x = Array(buffer_of(std::vector<std::uint32_t>{0x01020304, 0x3f800000}));
  const auto parts = [](const Array& a, const Array&) { return bitcast(a, DType::u8); };
  expect_bits<std::uint8_t>(both_ways(parts, x, x), {4, 3, 2, 1, 0, 0, 0x80, 0x3f});
  EXPECT_EQ(bitcast(x, DType::u8).shape(), (Shape{Dim(2), Dim(4)}));
  const auto whole = [](const Array& a, const Array&) { return bitcast(bitcast(a, DType::u8), DType::f32); };
  EXPECT_EQ(whole(x, x).shape(), (Shape{Dim(2)}));
  expect_bits<std::uint32_t>(both_ways(whole, x, x), {0x01020304, 0x3f800000});
}

TEST(Bitcast, ErrorsTeach) {
  const Array bytes = Array(buffer_of(std::vector<std::uint8_t>{1, 2, 3}));
  const std::string size = message_of([&] { (void)bitcast(bytes, DType::f32); });
  EXPECT_NE(size.find("u8[3] to f32 takes a last axis of 4"), std::string::npos) << size;
  const std::string kind = message_of([&] { (void)bitcast(bytes == 1, DType::u8); });
  EXPECT_NE(kind.find("bools and complex numbers"), std::string::npos) << kind;
  const std::string format = message_of([&] { (void)reduce_precision(convert(bytes, DType::f32), 0, 3); });
  EXPECT_NE(format.find("0 bits for the exponent"), std::string::npos) << format;
}

TEST(Nextafter, IsThatOfTheCLibrary) {
  const auto check = [&]<class T>(std::type_identity<T>) {
    std::vector<T> x, y, want;
    for (const T a : special_values<T>())
      for (const T b : special_values<T>())
        if (!std::isnan(a) && !std::isnan(b)) x.push_back(a), y.push_back(b), want.push_back(std::nextafter(a, b));
    const auto next = [](const Array& a, const Array& b) { return nextafter(a, b); };
    expect_bits<T>(both_ways(next, Array(buffer_of(x)), Array(buffer_of(y))), want);
  };
  check(std::type_identity<float>());
  check(std::type_identity<double>());
}

// In the order of their values, -0 and 0 at one place.
template <class T>
void expect_neighbours() {
  std::vector<T> all = all_codes<T>();
  constexpr auto negative_zero = static_cast<decltype(T::bits)>(1u << (8 * sizeof(T) - 1));
  std::erase_if(all, [](T x) { return std::isnan(static_cast<float>(x)) || x.bits == negative_zero; });
  std::ranges::sort(all, {}, [](T x) { return static_cast<float>(x); });
  const std::vector<T> below(all.begin(), all.end() - 1), above(all.begin() + 1, all.end());
  const auto up = [](const Array& a, const Array& b) { return nextafter(a, b); };
  const std::vector<T> highest(below.size(), all.back()), lowest(above.size(), all.front());
  std::vector<T> want = below;  // from above 0 down to 0, and from 0 up: as the C library, from below 0 up to -0
  expect_bits<T>(both_ways(up, Array(buffer_of(above)), Array(buffer_of(lowest))), want);
  want = above;
  for (T& x : want)
    if (x.bits == 0 && format(*dtype_of<T>).negative_zero) x.bits = negative_zero;
  expect_bits<T>(both_ways(up, Array(buffer_of(below)), Array(buffer_of(highest))), want);
}
template <class F>
void for_each_narrow(F f) {
  for (int d = 0; d < dtype_count; ++d)
    dispatch(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
      if constexpr (NarrowFloat<T> && !is_powers(*dtype_of<T>)) f(std::type_identity<T>());
    });
}
TEST(Nextafter, IsTheNeighbourOfEveryNumberOf8And16Bits) {
  for_each_narrow([]<class T>(std::type_identity<T>) { expect_neighbours<T>(); });
}

// Of every code, against the formats that have so many bits: numbers of whole places, none below the smallest normal
// one where exponents are taken away.
TEST(ReducePrecision, OfFloatsOf8Bits) {
  for_each_narrow([]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) == 1) {
      const Format f = format(*dtype_of<T>);
      for (const auto& [exponents, mantissas] : {std::pair(8, 1), {5, 2}, {2, 7}, {3, 1}, {4, 0}, {8, 7}}) {
        const int own = format_of(*dtype_of<T>).exponent_bits;
        const bool fewer = exponents < own;
        const int bias = (1 << (exponents - 1)) - 1;
        std::vector<T> x = all_codes<T>(), want;
        std::erase_if(x, [](T code) { return std::isnan(static_cast<float>(code)); });
        for (const T code : x) {
          const Real value = static_cast<float>(code);
          if (std::isinf(value) || value == 0) {
            want.push_back(code);
            continue;
          }
          const int exponent = std::max(std::ilogb(value), f.min_exponent), digits = std::min(mantissas + 1, f.digits);
          const Real place = std::ldexp(Real(1), exponent - digits + 1);
          Real whole = value / place;
          // Without a mantissa, the exponent's last bit is made even.
          const int biased = exponent + format_of(*dtype_of<T>).bias;
          const bool tie_stays = mantissas == 0 && std::abs(whole) == 1.5L && biased % 2 == 0;
          whole = tie_stays ? std::trunc(whole) : std::nearbyint(whole);
          Real is = whole == 0 ? std::copysign(Real(0), value) : whole * place;
          if (fewer && is != 0 && std::ilogb(is) > bias) is = std::copysign(std::numeric_limits<Real>::infinity(), is);
          if (fewer && is != 0 && std::isfinite(is) && std::ilogb(is) <= -bias) is = std::copysign(Real(0), is);
          want.push_back(T(static_cast<float>(is)));
        }
        const auto reduced = [&](const Array& a, const Array&) { return reduce_precision(a, exponents, mantissas); };
        const Array a = Array(buffer_of(x));
        expect_bits<T>(both_ways(reduced, a, a), want);
      }
    }
  });
}

TEST(ReducePrecision, IsTheFormatOfThatSize) {
  std::vector<float> x, as_bf16, as_f16;
  for (std::uint32_t bits = 0; bits < 0xfff00000u; bits += 0x10427) {
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    x.push_back(value);
    as_bf16.push_back(static_cast<float>(BFloat16(value)));
    const auto half = static_cast<float>(Float16(value));
    // No subnormal numbers, but those that have no digits left below the smallest normal one.
    as_f16.push_back(std::abs(value) < 0x1.ffep-15f ? std::copysign(0.f, value) : half);
  }
  const auto rounded = [&](int exponent, int mantissa) {
    return both_ways([=](const Array& a, const Array&) { return reduce_precision(a, exponent, mantissa); },
                     Array(buffer_of(x)), Array(buffer_of(x)));
  };
  expect_bits<float>(rounded(8, 7), as_bf16);
  expect_bits<float>(rounded(5, 10), as_f16);
  expect_bits<float>(rounded(11, 52), x);
}

// Values by JAX.
TEST(ReducePrecision, OfFewBits) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{-1, 1.5f, 0.75f, 65519, -3e38f, inf, 1e-40f, 0.9f};
  const auto rounded = [&](int exponent, int mantissa) {
    return both_ways([=](const Array& a, const Array&) { return reduce_precision(a, exponent, mantissa); },
                     Array(buffer_of(x)), Array(buffer_of(x)));
  };
  expect_bits<float>(rounded(4, 3), {-1, 1.5f, 0.75f, inf, -inf, inf, 0, 0.875f});
  expect_bits<float>(rounded(2, 0), {-1, 2, 0, inf, -inf, inf, 0, 1});
  expect_bits<float>(rounded(1, 3), {-0.f, 0, 0, inf, -inf, inf, 0, 0});
}

}  // namespace
}  // namespace tenon
