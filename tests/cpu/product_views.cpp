// Products that read and write parts of arrays where they lie: against plain loops, and by what is planned.
#include <gtest/gtest.h>

#include <random>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr std::int64_t n = 12;  // a matrix is more than what lives in registers

std::vector<double> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> small(-3, 3);
  std::vector<double> v(static_cast<std::size_t>(count));
  for (double& x : v) x = small(engine);
  return v;
}
Array make(const std::vector<double>& v, std::vector<std::int64_t> shape, DType dtype) {
  return convert(array<double>(v, std::move(shape)), dtype);
}
// c += a·b, of matrices that begin at these elements.
void multiply(std::vector<double>& c, std::int64_t at, const std::vector<double>& a, std::int64_t a_at,
              const std::vector<double>& b, std::int64_t b_at) {
  std::vector<double> sum(static_cast<std::size_t>(n * n), 0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t j = 0; j < n; ++j)
        sum[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(a_at + i * n + k)] * b[static_cast<std::size_t>(b_at + k * n + j)];
  for (std::int64_t i = 0; i < n * n; ++i) c[static_cast<std::size_t>(at + i)] += sum[static_cast<std::size_t>(i)];
}
void expect_equal(const Array& got, const std::vector<double>& expected, std::string_view what) {
  const Array wide = convert(got, DType::f64);
  const auto all = wide.span<double>();
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(all[i], expected[i]) << what << " at " << i;
}
template <class F, class... Args>
std::string planned(F f, const Args&... args) {
  return kernel::print(plan(*run_passes(compile_passes(), trace(f)(args...))).function);
}
std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

constexpr DType dtypes[]{DType::f32, DType::f64, DType::f16, DType::i32, DType::u8};

Array chain(const Array& p) {
  return fori_loop(2, 5, [](Array i, Array q) { return q.at(i).set(matmul(q(i - 1), q(i - 2))); }, p);
}

TEST(ProductViews, OperandsAndResultsAreRowsOfOneArray) {
  const std::string text = planned(chain, zeros({5, n, n}));
  EXPECT_EQ(count(text.substr(text.find("for ")), "each"), 0u) << text;
  for (const DType dtype : {DType::f32, DType::f64, DType::i32}) {
    auto expected = random_numbers(5 * n * n, 1);
    for (std::int64_t i = 2 * n * n; i < 5 * n * n; ++i) expected[static_cast<std::size_t>(i)] = 0;
    const Array got = jit(chain)(make(expected, {5, n, n}, dtype));
    for (std::int64_t i = 2; i < 4; ++i)
      multiply(expected, i * n * n, expected, (i - 1) * n * n, expected, (i - 2) * n * n);
    expected.resize(static_cast<std::size_t>(4 * n * n));  // beyond, sums are no longer exact
    expect_equal(reshape(got(slice(0, 4)), {4 * n * n}), expected, name(dtype));
  }
}

// A product that would overwrite what it reads has a result of its own.
TEST(ProductViews, ResultsThatTheOperandsOverlap) {
  for (const DType dtype : dtypes) {
    const auto run = [](const Array& p) {
      return fori_loop(1, 3, [](Array i, Array q) { return q.at(i).set(matmul(q(i), q(i - 1))); }, p);
    };
    auto expected = random_numbers(3 * n * n, 2);
    if (dtype == DType::f16 || dtype == DType::u8)
      for (double& x : expected) x = std::abs(static_cast<int>(x)) % 2;
    const Array got = jit(run)(make(expected, {3, n, n}, dtype));
    for (std::int64_t i = 1; i < 2; ++i) {
      std::vector<double> row(static_cast<std::size_t>(n * n), 0);
      multiply(row, 0, expected, i * n * n, expected, (i - 1) * n * n);
      std::ranges::copy(row, expected.begin() + i * n * n);
    }
    expected.resize(static_cast<std::size_t>(2 * n * n));
    expect_equal(reshape(got(slice(0, 2)), {2 * n * n}), expected, name(dtype));
  }
}

TEST(ProductViews, AddToWhatIsThere) {
  const auto run = [](const Array& p, const Array& a, const Array& b) {
    return fori_loop(0, 3, [&](Array i, Array q) { return q.at(i).set(q(i) + matmul(a(i), b)); }, p);
  };
  const std::string text = planned(run, zeros({3, n, n}), zeros({3, n, n}), zeros({n, n}));
  EXPECT_EQ(count(text, "+="), 1u) << text;
  for (const DType dtype : dtypes) {
    auto expected = random_numbers(3 * n * n, 3), a = random_numbers(3 * n * n, 4), b = random_numbers(n * n, 5);
    if (dtype == DType::u8)
      for (auto* v : {&expected, &a, &b})
        for (double& x : *v) x = std::abs(x);
    const Array got = jit(run)(make(expected, {3, n, n}, dtype), make(a, {3, n, n}, dtype), make(b, {n, n}, dtype));
    for (std::int64_t i = 0; i < 3; ++i) multiply(expected, i * n * n, a, i * n * n, b, 0);
    expect_equal(reshape(got, {3 * n * n}), expected, name(dtype));
  }
}

// What an operand was copied of is written between the copy and the product.
TEST(ProductViews, OperandsThatChange) {
  const auto run = [](const Array& p) {
    return fori_loop(
        0, 2,
        [](Array i, Array q) {
          const Array before = q(i);
          const Array doubled = q.at(i).set(before * 2);
          return doubled.at(2).set(matmul(before, doubled(i)));
        },
        p);
  };
  auto expected = random_numbers(3 * n * n, 6);
  const Array got = jit(run)(make(expected, {3, n, n}, DType::f64));
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto before = expected;
    for (std::int64_t k = i * n * n; k < (i + 1) * n * n; ++k) expected[static_cast<std::size_t>(k)] *= 2;
    std::fill(expected.begin() + 2 * n * n, expected.end(), 0);
    multiply(expected, 2 * n * n, before, i * n * n, expected, i * n * n);
  }
  expect_equal(reshape(got, {3 * n * n}), expected, "f64");
}

// Parts of rows, every other row, transposed, and a batch.
TEST(ProductViews, StridedOperands) {
  const auto run = [](const Array& x, const Array& y) {
    const Array a = x(slice(1, 1 + n), slice(2, 2 + n)), b = y(slice(0, 2 * n, 2), slice(3, 3 + n));
    return matmul(a + 0, transpose(b)) + matmul(transpose(a), b);
  };
  const std::int64_t rows = 2 * n, columns = n + 4;
  const auto x = random_numbers(rows * columns, 7), y = random_numbers(rows * columns, 8);
  std::vector<double> a, b, expected(static_cast<std::size_t>(n * n), 0);
  const auto at = [&](const std::vector<double>& v, std::int64_t i, std::int64_t j) {
    return v[static_cast<std::size_t>(i * columns + j)];
  };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k < n; ++k)
        expected[static_cast<std::size_t>(i * n + j)] +=
            at(x, 1 + i, 2 + k) * at(y, 2 * j, 3 + k) + at(x, 1 + k, 2 + i) * at(y, 2 * k, 3 + j);
  for (const DType dtype : {DType::f32, DType::f64, DType::i32})
    expect_equal(reshape(jit(run)(make(x, {rows, columns}, dtype), make(y, {rows, columns}, dtype)), {n * n}), expected,
                 name(dtype));
}

TEST(ProductViews, Batches) {
  const auto run = [](const Array& x, const Array& y) {
    return einsum("bij,bjk->bik", x(slice(1, 4)), y(slice(0, 6, 2)));
  };
  const auto x = random_numbers(5 * n * n, 9), y = random_numbers(6 * n * n, 10);
  std::vector<double> expected(static_cast<std::size_t>(3 * n * n), 0);
  for (std::int64_t k = 0; k < 3; ++k) multiply(expected, k * n * n, x, (1 + k) * n * n, y, 2 * k * n * n);
  expect_equal(reshape(jit(run)(make(x, {5, n, n}, DType::f64), make(y, {6, n, n}, DType::f64)), {3 * n * n}), expected,
               "f64");
}

}  // namespace
}  // namespace tenon
