// Products against a naive loop, over dtypes, shapes, strides, accumulation, batches and special values.
#include "tenon/runtime/linear_algebra/products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/runtime/linear_algebra/product_kernels.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Size = std::int64_t;

// What sums are taken in: wide enough that the naive sum's own rounding does not show.
template <class T>
auto wide(T x) {
  if constexpr (NarrowFloat<T>)
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

// A plain generator: millions of values, in code that is not optimised.
class Values {
 public:
  explicit Values(std::uint64_t seed) : state_(seed) {}
  template <class T>
  T next() {
    if constexpr (std::is_same_v<T, bool>)
      return bits() % 4 == 0;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(bits());
    else if constexpr (requires(T x) { x.real(); })
      return T(number(), number());
    else
      return T(number());
  }

 private:
  std::uint64_t bits() { return (state_ = state_ * 6364136223846793005u + 1442695040888963407u) >> 24; }
  float number() { return static_cast<float>(static_cast<std::int32_t>(bits())) * 0x1p-31F; }  // in [-1, 1]
  std::uint64_t state_;
};

// One matrix of a case: its memory and where elements are.
template <class T>
struct Matrix {
  std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> memory;
  Size batch, row, column, origin;
  T* data() { return reinterpret_cast<T*>(memory.data()) + origin; }
  Size at(Size n, Size i, Size j) const { return n * batch + i * row + j * column; }
  std::size_t place(Size n, Size i, Size j) const { return static_cast<std::size_t>(origin + at(n, i, j)); }
};
template <class T>
auto widened(Matrix<T>& m) {
  const T* const memory = m.data() - m.origin;
  std::vector<decltype(wide(T()))> all(m.memory.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = wide(memory[i]);
  return all;
}

enum class Layout { rows, columns, gaps, reversed, broadcast };

template <class T>
Matrix<T> matrix(Size batch, Size rows, Size columns, Layout layout, Values& random) {
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
  for (std::size_t i = 0; i < size; ++i) reinterpret_cast<T*>(m.memory.data())[i] = random.next<T>();
  if (layout == Layout::reversed && rows > 0) {
    m.origin = m.row * (rows - 1);
    m.row = -m.row;
  }
  if (layout == Layout::broadcast) m.batch = 0;
  return m;
}

template <class T>
void check(Size batch, Size m, Size n, Size k, Layout la, Layout lb, Layout lc, bool accumulate) {
  Values random(static_cast<std::uint64_t>(batch + 3 * m + 7 * n + 13 * k));
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
      2 * epsilon<T> * (NarrowFloat<T> ? double(k) + 2 : (double(k) + 2) * (std::sqrt(double(k)) + 2));
  const auto wide_a = widened(a), wide_b = widened(b);
  const auto next_a = a.place(0, 0, 1) - a.place(0, 0, 0), next_b = b.place(0, 1, 0) - b.place(0, 0, 0);
  for (Size p = 0; p < batch; ++p)
    for (Size i = 0; i < m; ++i)
      for (Size j = 0; j < n; ++j) {
        T& to = expected.data()[expected.at(p, i, j)];
        const T got = c.data()[c.at(p, i, j)];
        auto sum = accumulate ? wide(to) : decltype(wide(to))(0);
        const auto *row = wide_a.data() + a.place(p, i, 0), *column = wide_b.data() + b.place(p, 0, j);
        for (Size l = 0; l < k; ++l) sum += row[l * next_a] * column[l * next_b];
        const auto where = [&] {
          return fmt::format("{} {}x{}x{}x{} [{},{},{}]", name(*dtype_of<T>), batch, m, n, k, p, i, j);
        };
        if constexpr (std::is_integral_v<T>) {
          if (std::is_same_v<T, bool>)
            ASSERT_EQ(got, sum != 0) << where();
          else
            ASSERT_EQ(got, static_cast<T>(sum)) << where();
        } else {
          ASSERT_LE(static_cast<double>(std::abs(wide(got) - sum)), tolerance) << where();
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

// Rows farther apart than a kernel's offsets reach, of each operand and of the result.
TEST(ProductsOfFloats, DistantRows) {
  const Size distance = (Size(1) << 17) + 3, m = 6, n = 5, k = 4;
  std::vector<float> far(static_cast<std::size_t>(distance * 7)), near(64, 2.f), out(64);
  for (std::size_t i = 0; i < far.size(); ++i) far[i] = static_cast<float>(i % 13);
  const auto dtype = static_cast<std::int32_t>(DType::f32);
  const TenonGemm left{dtype, 0, 1, m, n, k, 0, distance, 1, 0, n, 1, 0, n, 1};
  ASSERT_EQ(tenon_gemm(&left, far.data(), near.data(), out.data()), 0);
  const TenonGemm right{dtype, 0, 1, m, n, k, 0, k, 1, 0, distance, 1, 0, n, 1};
  std::vector<float> out2(64);
  ASSERT_EQ(tenon_gemm(&right, near.data(), far.data(), out2.data()), 0);
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) {
      float a = 0, b = 0;
      for (Size l = 0; l < k; ++l)
        a += 2 * far[static_cast<std::size_t>(i * distance + l)],
            b += 2 * far[static_cast<std::size_t>(l * distance + j)];
      ASSERT_EQ(out[static_cast<std::size_t>(i * n + j)], a);
      ASSERT_EQ(out2[static_cast<std::size_t>(i * n + j)], b);
    }
  const TenonGemm result{dtype, 0, 1, m, n, k, 0, k, 1, 0, n, 1, 0, distance, 1};
  ASSERT_EQ(tenon_gemm(&result, near.data(), near.data(), far.data()), 0);
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) ASSERT_EQ(far[static_cast<std::size_t>(i * distance + j)], 16.f);
}

// Operands that end where memory ends: nothing behind them is read.
template <class T>
void check_ends(Size m, Size n, Size k) {
  const std::size_t page = 4096, bytes = 16 * page;
  const auto at_the_end = [&](Size count) {
    char* memory =
        static_cast<char*>(::mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(::mprotect(memory + bytes, page, PROT_NONE), 0);
    return std::pair(memory, reinterpret_cast<T*>(memory + bytes) - count);
  };
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const auto [memory_a, a] = at_the_end(m * k);
      const auto [memory_b, b] = at_the_end(k * n);
      const auto [memory_c, c] = at_the_end(m * n);
      std::fill_n(a, m * k, T(1)), std::fill_n(b, k * n, T(3));
      const TenonGemm g{static_cast<std::int32_t>(*dtype_of<T>),
                        0,
                        1,
                        m,
                        n,
                        k,
                        0,
                        ta ? 1 : k,
                        ta ? m : 1,
                        0,
                        tb ? 1 : n,
                        tb ? k : 1,
                        0,
                        n,
                        1};
      EXPECT_EQ(tenon_gemm(&g, a, b, c), 0);
      for (Size i = 0; i < m * n; ++i) ASSERT_EQ(c[i], T(3 * k)) << m << 'x' << n << 'x' << k;
      for (char* memory : {memory_a, memory_b, memory_c}) ::munmap(memory, bytes + page);
    }
}
TEST(ProductsOfFloats, NothingBeyondTheEndIsRead) {
  for (const Size m : {1, 3, 8, 17})
    for (const Size n : {1, 2, 5, 7, 9, 15, 31, 33})
      for (const Size k : {1, 3, 8, 37}) {
        check_ends<float>(m, n, k);
        check_ends<double>(m, n, k);
        if (HasFatalFailure()) return;
      }
}

// When no more kernels may be made, products of new shapes are still right.
TEST(ProductsOfFloats, MoreShapesThanKernels) {
  const auto all = [] {
    for (std::uint32_t i = 0; i < most_product_kernels; ++i) product_kernel({3, 5, 7, 7, 5, 5 + i, 0, 0, 0});
    const bool refused = product_kernel({3, 5, 7, 7, 6, 5, 0, 0, 0}) == nullptr;
    check<float>(1, 67, 131, 300, Layout::rows, Layout::columns, Layout::rows, true);
    check<double>(2, 37, 41, 30, Layout::columns, Layout::gaps, Layout::gaps, false);
    std::_Exit(refused && !HasFailure() ? 0 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own: the kernels stay
  EXPECT_EXIT(all(), testing::ExitedWithCode(0), "");
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
