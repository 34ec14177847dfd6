// Newton and conjugate gradients of examples/solvers.h beside solutions in closed form.
#include "examples/solvers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tn = tenon;
using tn::Array;

namespace {

const Array matrix{{4.0, 1.0, 0.5}, {1.0, 3.0, -0.25}, {0.5, -0.25, 2.0}}, right{1.0, -2.0, 0.5};

Array solved(const Array& a, const Array& b) {
  return examples::conjugate_gradients([&](const Array& v) { return tn::matmul(a, v); }, b);
}

TEST(ConjugateGradients, Solve) {
  for (const Array& x : {solved(matrix, right), tn::jit(solved)(matrix, right)})
    EXPECT_TRUE(tn::allclose(tn::matmul(matrix, x), right, 0, 1e-9));
  EXPECT_TRUE(tn::array_equal(solved(matrix, 0 * right), 0 * right));  // no step, so no division by zero
}

// d(w·x)/db = A^-1 w, and d(w·x)/dA = -(A^-1 w) x^T where A is taken as symmetric or not alike.
TEST(ConjugateGradients, GradientsAreThoseOfTheSolution) {
  const Array w{1.0, 2.0, -1.0}, x = solved(matrix, right), adjoint = solved(matrix, w);
  const auto weighted = [&](const Array& a, const Array& b) { return tn::dot(w, solved(a + tn::transpose(a), b)); };
  const auto [of_a, of_b] = tn::jit(tn::grad<0, 1>(weighted))(0.5 * matrix, right);
  const Array outer = adjoint(tn::all, tn::newaxis) * x;
  EXPECT_TRUE(tn::allclose(of_b, adjoint, 1e-7, 1e-9));
  EXPECT_TRUE(tn::allclose(of_a, -(outer + tn::transpose(outer)), 1e-6, 1e-8));
}

// The equation of Kepler, E - e sin E = M: dE/dM = 1 / (1 - e cos E), dE/de = sin E / (1 - e cos E).
Array anomaly(const Array& eccentricity, const Array& mean) {
  const auto mismatch = [&](const Array& e) { return e - eccentricity * tn::sin(e) - mean; };
  return examples::newton(mismatch, mean(tn::newaxis))(0);
}

TEST(Newton, KeplerWithDerivativesInLanes) {
  const Array eccentricity{0.1, 0.3, 0.8}, mean{1.0, 2.0, 0.4};
  const Array e = tn::jit(tn::vmap(anomaly))(eccentricity, mean);
  const auto [of_eccentricity, of_mean] = tn::jit(tn::vmap(tn::grad<0, 1>(anomaly)))(eccentricity, mean);
  for (int lane = 0; lane < 3; ++lane) {
    const double x = e(lane).item<double>(), ecc = eccentricity(lane).item<double>();
    EXPECT_NEAR(x - ecc * std::sin(x), mean(lane).item<double>(), 1e-9);
    EXPECT_NEAR(of_mean(lane).item<double>(), 1 / (1 - ecc * std::cos(x)), 1e-6);
    EXPECT_NEAR(of_eccentricity(lane).item<double>(), std::sin(x) / (1 - ecc * std::cos(x)), 1e-6);
  }
}

TEST(Newton, ASystem) {
  const auto circle_and_line = [](const Array& x) { return tn::stack({tn::dot(x, x) - 25.0, x(0) - x(1) + 1.0}); };
  const Array x =
      tn::jit([&](const Array& start) { return examples::newton(circle_and_line, start); })(Array{1.0, 5.0});
  EXPECT_TRUE(tn::allclose(x, Array{3.0, 4.0}, 1e-9, 1e-9));
}

}  // namespace
