// Sines, cosines and tangents of large f64, beside the C library's of long double.
#include "tenon/runtime/large_angles.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tenon/tenon.h"

namespace tenon {
namespace {

// In places of the result.
double error(double got, long double exact) {
  int exponent = 0;
  std::frexp(static_cast<double>(exact), &exponent);
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) * std::ldexp(1.0L, 53 - exponent));
}
// The first lies nearer to a multiple of π/2 than any other f64.
constexpr double hard[] = {
    0x1.6ac5b262ca1ffp+849, 1e8, 0x1p26, 0x1.fffffffffffffp25, 1e22, 0x1p1023, std::numeric_limits<double>::max()};

TEST(LargeAngles, AreWithinTheirBounds) {
  std::mt19937_64 draw(1);
  for (int i = 0; i < 20'000; ++i) {
    const double drawn = std::bit_cast<double>((draw() >> 12) | (1023 + 20 + draw() % 1004) << 52);
    const double x = i < 14 ? (i % 2 != 0 ? -hard[i / 2] : hard[i / 2]) : drawn;
    ASSERT_LE(error(tenon_sin(x), std::sin(static_cast<long double>(x))), 1.5) << x;
    ASSERT_LE(error(tenon_cos(x), std::cos(static_cast<long double>(x))), 1.5) << x;
    ASSERT_LE(error(tenon_tan(x), std::tan(static_cast<long double>(x))), 2) << x;
  }
}

TEST(LargeAngles, OfWhatIsNoNumber) {
  for (const double x : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
    for (const double value : {tenon_sin(x), tenon_cos(x), tenon_tan(x)}) EXPECT_TRUE(std::isnan(value)) << x;
}

TEST(LargeAngles, OfCompiledCode) {
  const double x = hard[0];
  for (const Shape& shape : {Shape{}, Shape{9}}) {
    const Array all = full(shape, x);
    const auto first = [](const Array& a) { return (a.shape().rank() == 0 ? a : a(0)).item<double>(); };
    EXPECT_EQ(first(jit([](const Array& a) { return sin(a); })(all)), tenon_sin(x));
    EXPECT_EQ(first(jit([](const Array& a) { return cos(a); })(all)), tenon_cos(x));
    EXPECT_EQ(first(jit([](const Array& a) { return tan(a); })(all)), tenon_tan(x));
  }
}

}  // namespace
}  // namespace tenon
