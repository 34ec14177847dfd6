// Products against a naive loop, over dtypes, shapes, strides, accumulation, batches and special values.
#include "tenon/runtime/products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/runtime/parallel_for.h"

namespace tenon {
namespace {

using Size = std::int64_t;

// What sums are taken in: wide enough that the naive sum's own rounding does not show.
template <class T>
auto wide(T x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return static_cast<double>(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return static_cast<long double>(x);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint64_t>(x);
  else
    return std::complex<long double>(x);
}

template <class T>
constexpr double epsilon = std::is_same_v<T, Float16>                                             ? 0x1p-11
                           : std::is_same_v<T, BFloat16>                                          ? 0x1p-8
                           : std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>> ? 0x1p-52
                                                                                                  : 0x1p-23;

template <class T>
T random_value(std::mt19937& random) {
  if constexpr (std::is_same_v<T, bool>)
    return random() % 4 == 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(random());
  else {
    std::uniform_real_distribution<float> some(-1, 1);
    if constexpr (requires(T x) { x.real(); })
      return T(some(random), some(random));
    else
      return T(some(random));
  }
}

// One matrix of a case: its memory and where elements are.
template <class T>
struct Matrix {
  std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> memory;
  Size batch, row, column, origin;
  T* data() { return reinterpret_cast<T*>(memory.data()) + origin; }
  Size at(Size n, Size i, Size j) const { return n * batch + i * row + j * column; }
};

enum class Layout { rows, columns, gaps, reversed, broadcast };

template <class T>
Matrix<T> matrix(Size batch, Size rows, Size columns, Layout layout, std::mt19937& random) {
  Matrix<T> m{};
  Size step = 1;
  switch (layout) {
    case Layout::columns:
      m.row = 1;
      m.column = rows;
      break;
    case Layout::gaps:
      step = 3;
      [[fallthrough]];
    case Layout::reversed:
    case Layout::broadcast:
    case Layout::rows:
      m.column = step;
      m.row = columns * step + (layout == Layout::gaps ? 5 : 0);
  }
  m.batch = rows * columns == 0 ? 1 : std::max(m.row * rows, m.column * columns);
  const auto size = static_cast<std::size_t>(m.batch * batch + 1);
  m.memory.resize(size);
  for (std::size_t i = 0; i < size; ++i) reinterpret_cast<T*>(m.memory.data())[i] = random_value<T>(random);
  if (layout == Layout::reversed && rows > 0) {
    m.origin = m.row * (rows - 1);
    m.row = -m.row;
  }
  if (layout == Layout::broadcast) m.batch = 0;
  return m;
}

template <class T>
void check(Size batch, Size m, Size n, Size k, Layout la, Layout lb, Layout lc, bool accumulate) {
  std::mt19937 random(static_cast<unsigned>(batch + 3 * m + 7 * n + 13 * k));
  auto a = matrix<T>(batch, m, k, la, random), b = matrix<T>(batch, k, n, lb, random);
  auto c = matrix<T>(batch, m, n, lc == Layout::broadcast ? Layout::rows : lc, random);
  const auto before = c;
  const TenonGemm g{static_cast<std::int32_t>(*dtype_of<T>),
                    accumulate,
                    batch,
                    m,
                    n,
                    k,
                    a.batch,
                    a.row,
                    a.column,
                    b.batch,
                    b.row,
                    b.column,
                    c.batch,
                    c.row,
                    c.column};
  ASSERT_EQ(tenon_gemm(&g, a.data(), b.data(), c.data()), 0);
  auto expected = before;
  // |error| <= (k + 2) eps sum |a b|, which is at most k times the largest product (2 for complex numbers).
  const double tolerance =
      2 * epsilon<T> *
      (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> ? double(k) + 2
                                                                 : (double(k) + 2) * (std::sqrt(double(k)) + 2));
  for (Size p = 0; p < batch; ++p)
    for (Size i = 0; i < m; ++i)
      for (Size j = 0; j < n; ++j) {
        T& to = expected.data()[expected.at(p, i, j)];
        const T got = c.data()[c.at(p, i, j)];
        auto sum = accumulate ? wide(to) : decltype(wide(to))(0);
        for (Size l = 0; l < k; ++l) sum += wide(a.data()[a.at(p, i, l)]) * wide(b.data()[b.at(p, l, j)]);
        const std::string where = fmt::format("{} {}x{}x{}x{} [{},{},{}]", name(*dtype_of<T>), batch, m, n, k, p, i, j);
        if constexpr (std::is_integral_v<T>) {
          if (std::is_same_v<T, bool>)
            ASSERT_EQ(got, sum != 0) << where;
          else
            ASSERT_EQ(got, static_cast<T>(sum)) << where;
        } else {
          ASSERT_LE(static_cast<double>(std::abs(wide(got) - sum)), tolerance) << where;
        }
        to = got;
      }
  // Nothing between the elements of c was touched.
  EXPECT_EQ(std::memcmp(expected.memory.data(), c.memory.data(), c.memory.size() * sizeof(T)), 0);
}

template <class T>
class Products : public testing::Test {};
using Elements = testing::Types<bool, std::int8_t, std::int32_t, std::int64_t, std::uint16_t, Float16, BFloat16, float,
                                double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Products, Elements);

TYPED_TEST(Products, SmallShapesInEveryLayout) {
  for (const Layout la : {Layout::rows, Layout::columns, Layout::gaps, Layout::reversed, Layout::broadcast})
    for (const Layout lb : {Layout::rows, Layout::columns, Layout::gaps, Layout::reversed, Layout::broadcast})
      for (const Layout lc : {Layout::rows, Layout::columns, Layout::gaps, Layout::reversed})
        for (const auto& [m, n, k] : {std::array<Size, 3>{1, 1, 1}, {2, 3, 4}, {7, 17, 40}, {1, 35, 33}, {9, 1, 70}}) {
          check<TypeParam>(2, m, n, k, la, lb, lc, (m + n) % 2 == 0);
          if (this->HasFatalFailure()) return;
        }
}

TYPED_TEST(Products, EmptyOnes) {
  for (const auto& [batch, m, n, k] :
       {std::array<Size, 4>{0, 2, 3, 4}, {2, 0, 3, 4}, {2, 3, 0, 4}, {2, 3, 4, 0}, {1, 100, 70, 0}})
    for (const bool accumulate : {false, true})
      check<TypeParam>(batch, m, n, k, Layout::rows, Layout::rows, Layout::rows, accumulate);
}

TYPED_TEST(Products, BlocksAndRemainders) {
  for (const auto& [m, n, k] :
       {std::array<Size, 3>{65, 64, 64}, {67, 131, 300}, {100, 257, 30}, {13, 200, 90}, {3, 300, 257}}) {
    check<TypeParam>(1, m, n, k, Layout::rows, Layout::rows, Layout::rows, false);
    check<TypeParam>(1, m, n, k, Layout::columns, Layout::columns, Layout::rows, true);
    check<TypeParam>(1, m, n, k, Layout::rows, Layout::columns, Layout::columns, false);
    if (this->HasFatalFailure()) return;
  }
}

// Every height of tile with every number of vectors and every tail.
TEST(ProductsOfFloats, EveryTile) {
  for (Size m = 1; m <= 15; ++m)
    for (const Size k : {1, 2, 5, 36})
      for (Size n = 1; n <= 150; n += n < 70 ? 1 : 13) {
        check<float>(1, m, n, k, Layout::rows, Layout::rows, Layout::rows, n % 2 == 0);
        check<double>(1, m, n, k, Layout::rows, Layout::columns, Layout::rows, n % 2 == 1);
        if (HasFatalFailure()) return;
      }
}

TEST(ProductsOfFloats, LargeOnesOnAllThreads) {
  const int before = threads();
  set_threads(3);
  check<float>(1, 900, 270, 520, Layout::rows, Layout::rows, Layout::rows, false);
  check<float>(1, 150, 1100, 520, Layout::columns, Layout::columns, Layout::rows, true);
  check<float>(1, 800, 1100, 300, Layout::rows, Layout::rows, Layout::rows, false);
  check<double>(1, 900, 150, 520, Layout::rows, Layout::columns, Layout::columns, false);
  check<float>(70, 40, 60, 50, Layout::rows, Layout::rows, Layout::rows, false);
  check<BFloat16>(2, 200, 160, 300, Layout::columns, Layout::broadcast, Layout::columns, true);
  set_threads(before);
}

TEST(ProductsOfFloats, ConcurrentCallers) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([] {
      for (int round = 0; round < 5; ++round)
        check<float>(1, 130, 110, 170, Layout::rows, Layout::columns, Layout::rows, false);
    });
  for (auto& caller : callers) caller.join();
}

template <class T>
void check_special() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const Size m : {1, 5, 80})
    for (const Size n : {1, 6, 90}) {
      const Size k = 40;
      std::vector<T> a(static_cast<std::size_t>(m * k), T(1)), b(static_cast<std::size_t>(k * n), T(0)),
          c(static_cast<std::size_t>(m * n), nan);  // what c held before must not matter
      const auto product = [&] {
        const TenonGemm g{static_cast<std::int32_t>(*dtype_of<T>), 0, 1, m, n, k, 0, k, 1, 0, n, 1, 0, n, 1};
        ASSERT_EQ(tenon_gemm(&g, a.data(), b.data(), c.data()), 0);
      };
      product();
      for (const T x : c) ASSERT_EQ(x, T(0));
      a.back() = inf;  // inf * 0 in the last row
      product();
      for (Size i = 0; i < m * n; ++i) ASSERT_EQ(std::isnan(c[static_cast<std::size_t>(i)]), i >= (m - 1) * n);
      a.back() = 1;
      b.front() = nan;  // in the first column
      product();
      for (Size i = 0; i < m * n; ++i) ASSERT_EQ(std::isnan(c[static_cast<std::size_t>(i)]), i % n == 0);
      b.front() = inf;
      product();
      for (Size i = 0; i < m * n; ++i) ASSERT_EQ(c[static_cast<std::size_t>(i)], i % n == 0 ? inf : T(0));
    }
}
TEST(ProductsOfFloats, NaNAndInfGoWhereTheyShould) {
  check_special<float>();
  check_special<double>();
}

// Conversions of whole rows round as single ones do: the product with 1, for all values of 16 bits.
template <class Low>
void check_halves() {
  std::vector<Low> a(0x10000), c(0x10000);
  for (unsigned bits = 0; bits < 0x10000; ++bits) a[bits].bits = static_cast<std::uint16_t>(bits);
  const Low one(1.f);
  const TenonGemm g{
      static_cast<std::int32_t>(*dtype_of<Low>), 0, 1, 1, 0x10000, 1, 0, 1, 1, 0, 0x10000, 1, 0, 0x10000, 1};
  ASSERT_EQ(tenon_gemm(&g, &one, a.data(), c.data()), 0);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    if (std::isnan(static_cast<float>(a[bits])))
      ASSERT_TRUE(std::isnan(static_cast<float>(c[bits]))) << bits;
    else
      ASSERT_EQ(static_cast<float>(c[bits]), static_cast<float>(a[bits])) << bits;
  }
  // Sums that lie between two values: 1 + (half, just below, just above) the spacing.
  const float spacing = 2 * static_cast<float>(epsilon<Low>);
  for (const float x : {0.5f, 0.4990234375f, 1.5f, 1.498046875f}) {
    std::vector<Low> row(32, Low(x * spacing)), result(16, Low(1.f));
    const TenonGemm sum{g.dtype, 1, 1, 1, 16, 1, 0, 1, 1, 0, 16, 1, 0, 16, 1};
    ASSERT_EQ(tenon_gemm(&sum, &one, row.data(), result.data()), 0);
    for (const Low r : result) ASSERT_EQ(r.bits, Low(1.f + static_cast<float>(Low(x * spacing))).bits);
  }
}
TEST(ProductsOfFloats, HalvesRoundToEvenAndKeepNaN) {
  check_halves<Float16>();
  check_halves<BFloat16>();
}

}  // namespace
}  // namespace tenon
