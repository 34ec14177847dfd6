// Newton's method of examples/solvers.h beside solutions in closed form.
#include "examples/solvers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tn = tenon;
using tn::Array;

namespace {

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
