// Spectral factors as ops are evaluated by: held to the equations that define them.
#include "tenon/ops/linear_algebra/factors/textbook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace {

namespace textbook = tenon::textbook;
using textbook::Matrix;
using textbook::Number;

Matrix drawn(std::int64_t rows, std::int64_t columns, bool is_real, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Matrix a{rows, columns};
  for (Number& x : a.elements) {
    const double re = normal(generator), im = normal(generator);
    x = {re, is_real ? 0 : im};
  }
  return a;
}
double distance(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.columns, b.columns);
  double most = 0;
  for (std::size_t i = 0; i < a.elements.size(); ++i) most = std::max(most, std::abs(a.elements[i] - b.elements[i]));
  return most;
}
template <class T>
Matrix diagonal(const std::vector<T>& values, std::int64_t rows, std::int64_t columns) {
  Matrix made{rows, columns};
  for (std::size_t i = 0; i < values.size(); ++i)
    made(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)) = values[i];
  return made;
}
bool is_real(const Matrix& a) {
  return std::ranges::all_of(a.elements, [](Number x) { return x.imag() == 0; });
}
constexpr double near = 1e-11;

// Matrices of all kinds, n by n.
std::vector<Matrix> matrices(std::int64_t n, bool real) {
  std::vector<Matrix> all{Matrix{n, n}, textbook::unit(n)};
  for (const unsigned seed : {1u, 2u, 3u}) all.push_back(drawn(n, n, real, seed));
  Matrix ones{n, n}, turned{n, n};
  std::ranges::fill(ones.elements, 1);
  for (std::int64_t i = 0; i < n; ++i) turned(i, (i + 1) % n) = 1;
  all.push_back(ones), all.push_back(turned);
  return all;
}

class Textbook : public testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Textbook, testing::Combine(testing::Values(0, 1, 2, 3, 5, 8), testing::Bool()));

TEST_P(Textbook, Hermitian) {
  const auto [n, real] = GetParam();
  for (Matrix a : matrices(n, real)) {
    const Matrix other = textbook::adjoint(a);
    for (std::size_t i = 0; i < a.elements.size(); ++i) a.elements[i] += other.elements[i];
    const auto [w, v] = textbook::hermitian(a);
    EXPECT_TRUE(std::ranges::is_sorted(w));
    EXPECT_LE(distance(textbook::product(a, v), textbook::product(v, diagonal(w, n, n))), near);
    EXPECT_LE(distance(textbook::product(textbook::adjoint(v), v), textbook::unit(n)), near);
    EXPECT_TRUE(!real || is_real(v));
  }
}

TEST_P(Textbook, Singular) {
  const auto [n, real] = GetParam();
  std::vector<Matrix> all = matrices(n, real);
  all.push_back(drawn(n + 2, n, real, 4)), all.push_back(drawn(n, n + 3, real, 5));
  for (const Matrix& a : all)
    for (const bool full : {false, true}) {
      const auto [u, s, vh] = textbook::singular(a, full);
      EXPECT_TRUE(std::ranges::is_sorted(s, std::greater()));
      const Matrix middle = diagonal(s, u.columns, vh.rows);
      EXPECT_LE(distance(textbook::product(textbook::product(u, middle), vh), a), near);
      EXPECT_LE(distance(textbook::product(textbook::adjoint(u), u), textbook::unit(u.columns)), near);
      EXPECT_LE(distance(textbook::product(vh, textbook::adjoint(vh)), textbook::unit(vh.rows)), near);
    }
}

TEST_P(Textbook, Schur) {
  const auto [n, real] = GetParam();
  for (const Matrix& a : matrices(n, real))
    for (const bool keeps_real : {false, true}) {
      if (keeps_real && !real) continue;
      const auto [t, z] = keeps_real ? textbook::real_schur(a) : textbook::schur(a);
      EXPECT_LE(distance(textbook::product(textbook::product(z, t), textbook::adjoint(z)), a), near);
      EXPECT_LE(distance(textbook::product(textbook::adjoint(z), z), textbook::unit(n)), near);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < i - (keeps_real ? 1 : 0); ++j) EXPECT_EQ(t(i, j), 0.0);
      for (std::int64_t i = 1; keeps_real && i < n; ++i)
        if (t(i, i - 1) != 0.0) {
          EXPECT_LE(std::abs(t(i, i) - t(i - 1, i - 1)), near);
          EXPECT_LT((t(i, i - 1) * t(i - 1, i)).real(), 0);
        }
      EXPECT_TRUE(!keeps_real || (is_real(t) && is_real(z)));
    }
}

TEST_P(Textbook, General) {
  const auto [n, real] = GetParam();
  for (const Matrix& a : matrices(n, real)) {
    const auto [w, v] = textbook::general(a, real);
    EXPECT_LE(distance(textbook::product(a, v), textbook::product(v, diagonal(w, n, n))), near);
    for (std::int64_t j = 0; j < n; ++j) {
      double square = 0;
      for (std::int64_t i = 0; i < n; ++i) square += std::norm(v(i, j));
      EXPECT_NEAR(square, 1, near);
      const Number value = w[static_cast<std::size_t>(j)];
      if (real && value.imag() > 0) {
        EXPECT_EQ(w[static_cast<std::size_t>(j + 1)], std::conj(value));
      }
    }
  }
}

TEST(Textbook, NaNOfWhatIsNotFinite) {
  Matrix a = drawn(3, 3, true, 1);
  a(1, 2) = std::numeric_limits<double>::infinity();
  const auto all_nan = [](const Matrix& x) {
    return std::ranges::all_of(x.elements, [](Number value) { return std::isnan(value.real()); });
  };
  EXPECT_TRUE(all_nan(textbook::hermitian(a).v));
  EXPECT_TRUE(all_nan(textbook::singular(a, true).u));
  EXPECT_TRUE(all_nan(textbook::schur(a).t));
  EXPECT_TRUE(all_nan(textbook::real_schur(a).z));
  EXPECT_TRUE(std::isnan(textbook::general(a, true).w[0].real()));
}

}  // namespace
