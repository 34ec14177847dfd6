// Maxima and minima of reals: NaN and the sign of zero, wherever they stand in a row.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// As IEEE 754's maximum and minimum of two: NaN wins, and +0 is more than -0.
double larger(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return NAN;
  if (x == 0 && y == 0) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
double smaller(double x, double y) { return -larger(-x, -y); }

void expect_same(double got, double expected, const std::string& where) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(got)) << where << ": " << got;
  else
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected)) << where << ": " << got;
}

template <class T>
void check(std::size_t n, std::size_t at, double special, double rest) {
  std::vector<T> row(n, static_cast<T>(rest));
  row[at] = static_cast<T>(special);
  double most = -infinity, least = infinity;
  for (const T v : row) most = larger(most, v), least = smaller(least, v);
  const auto size = static_cast<std::int64_t>(n);
  const Array x = array<T>(row, {size});
  const std::string where = std::to_string(special) + " at " + std::to_string(at) + " of " + std::to_string(n) +
                            " times " + std::to_string(rest);
  expect_same(static_cast<double>(amax(x).item<T>()), most, "max of " + where);
  expect_same(static_cast<double>(amin(x).item<T>()), least, "min of " + where);
  // Along the first axis of a matrix, where lanes are results; and along the last.
  std::vector<T> all;
  for (const T v : row) all.insert(all.end(), 20, v);
  const Array columns = amax(array<T>(all, {size, 20}), Axes{0});
  expect_same(static_cast<double>(columns.span<T>()[19]), most, "max down the columns of " + where);
}

TEST(Extrema, SignsOfZeroAndNan) {
  for (const std::size_t n : {1, 2, 7, 16, 17, 64, 65, 100, 200})
    for (const std::size_t at : {std::size_t(0), n / 2, n - 1})
      for (const auto& [special, rest] : {std::pair(0.0, -0.0),
                                          {-0.0, 0.0},
                                          {0.0, -1.0},
                                          {-0.0, -1.0},
                                          {-0.0, 1.0},
                                          {double(NAN), 1.0},
                                          {-NAN, 0.0}}) {
        check<float>(n, at, special, rest);
        check<double>(n, at, special, rest);
      }
}

// Of two arrays, and of an array and a constant, as scalars and as lanes.
void check_pairs(DType dtype) {
  const std::vector<double> values{NAN, -NAN, 0.0, -0.0, 1, -1, 2.5, -2.5, infinity, -infinity};
  const auto both = jit([](const Array& x, const Array& y) { return std::pair(max(x, y), min(x, y)); });
  const auto last = [](const Array& x) { return convert(x, DType::f64).span<double>().back(); };
  for (const double a : values)
    for (const double b : values)
      for (const std::int64_t n : {1, 70}) {
        const std::string where = std::string(name(dtype)) + ": " + std::to_string(a) + ", " + std::to_string(b);
        const Array x = full({n}, Array(Scalar(a).convert(dtype))), y = full({n}, Array(Scalar(b).convert(dtype)));
        const auto [most, least] = both(x, y);
        expect_same(last(most), larger(a, b), "max of " + where);
        expect_same(last(least), smaller(a, b), "min of " + where);
        const auto [high, low] = jit([b](const Array& v) { return std::pair(max(v, b), min(v, b)); })(x);
        expect_same(last(high), larger(a, b), "max with a constant of " + where);
        expect_same(last(low), smaller(a, b), "min with a constant of " + where);
      }
}
TEST(Extrema, OfPairs) {
  for (const DType dtype : {DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64}) check_pairs(dtype);
}

}  // namespace
}  // namespace tenon
