// The adaptive solver of examples/runge_kutta.h beside a linear equation's solution in closed form.
#include "examples/runge_kutta.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tn = tenon;
using examples::Lorenz;
using tn::Array;

namespace {

// y' = [[-a, -w], [w, -a]] y: y(T) = e^{-aT} R(wT) y0, and the adjoint equation runs it backwards.
struct Spiral {
  Array a, w;
  Array operator()(const Array&, const Array& y) const {
    return tn::stack({-a * y(0) - w * y(1), w * y(0) - a * y(1)});
  }
};
constexpr double a = 0.3, w = 2.0, end = 1.7, start[2] = {1.0, 0.5}, weight[2] = {2.0, -1.0};
const double shrink = std::exp(-a * end), c = std::cos(w * end), s = std::sin(w * end);
const double last[2] = {shrink * (c * start[0] - s * start[1]), shrink*(s* start[0] + c * start[1])};

constexpr examples::Tolerance tight{1e-10, 1e-12};
Array weighted(const Spiral& spiral, const Array& y0, const Array& t1) {
  return tn::dot(Array{weight[0], weight[1]}, examples::solve_ode(spiral, y0, 0.0, t1, tight).y);
}
const Spiral spiral{a, w};
const Array y0{start[0], start[1]};

TEST(RungeKutta, TheEndIsTheClosedForm) {
  const auto solve = [](const Spiral& f, const Array& from) { return examples::solve_ode(f, from, 0.0, end, tight); };
  for (const auto& solution : {solve(spiral, y0), tn::jit(solve)(spiral, y0)}) {
    EXPECT_NEAR(solution.y(0).item<double>(), last[0], 1e-9);
    EXPECT_NEAR(solution.y(1).item<double>(), last[1], 1e-9);
    EXPECT_GT(solution.accepted.item<int>(), 10);
  }
}

TEST(RungeKutta, ToleranceDecidesTheError) {
  double error_before = 1;
  int steps_before = 0;
  for (const double tolerance : {1e-3, 1e-5, 1e-7, 1e-9}) {
    const auto solution = examples::solve_ode(spiral, y0, 0.0, end, {tolerance, tolerance});
    const double error = std::abs(solution.y(0).item<double>() - last[0]);
    EXPECT_LT(error, 10 * tolerance);
    EXPECT_LT(error, error_before);
    EXPECT_GT(solution.accepted.item<int>(), steps_before);
    error_before = error, steps_before = solution.accepted.item<int>();
  }
}

// dL/dy0 = e^{-aT} R(wT)^T weight; dL/da = -T weight·y(T); dL/dw = T weight·J y(T); dL/dT = weight·A y(T).
TEST(RungeKutta, GradientsAreTheAdjoint) {
  const double of_a = -end * (weight[0] * last[0] + weight[1] * last[1]),
               of_w = end * (-weight[0] * last[1] + weight[1] * last[0]),
               of_end = weight[0] * (-a * last[0] - w * last[1]) + weight[1] * (w * last[0] - a * last[1]);
  const auto gradient = tn::grad<0, 1, 2>(weighted);
  for (const auto& [of_spiral, of_start, of_time] : {gradient(spiral, y0, end), tn::jit(gradient)(spiral, y0, end)}) {
    EXPECT_NEAR(of_spiral.a.item<double>(), of_a, 1e-8);
    EXPECT_NEAR(of_spiral.w.item<double>(), of_w, 1e-8);
    EXPECT_NEAR(of_time.item<double>(), of_end, 1e-8);
    EXPECT_NEAR(of_start(0).item<double>(), shrink * (c * weight[0] + s * weight[1]), 1e-9);
    EXPECT_NEAR(of_start(1).item<double>(), shrink * (-s * weight[0] + c * weight[1]), 1e-9);
  }
}

TEST(RungeKutta, ForwardModeAndSecondOrder) {
  const auto of_parameter = [](const Array& a) { return weighted({a, w}, y0, end); };
  const double value = weight[0] * last[0] + weight[1] * last[1];
  EXPECT_NEAR(tn::jvp(of_parameter, std::tuple(Array(a)), std::tuple(Array(1.0))).second.item<double>(), -end * value,
              1e-8);
  EXPECT_NEAR(tn::jit(tn::grad(tn::grad(of_parameter)))(a).item<double>(), end * end * value, 1e-6);
}

// Lanes take as many steps as they need.
TEST(RungeKutta, LanesWithStepsOfTheirOwn) {
  const Array speeds{0.5, 2.0, 9.0};
  const auto solve = [](const Array& speed) {
    const auto solution = examples::solve_ode(Spiral{a, speed}, y0, 0.0, end, tight);
    return std::pair(solution.y(0), solution.accepted);
  };
  const auto slope = [&](const Array& speed) { return solve(speed).first; };
  const auto [ends, steps] = tn::jit(tn::vmap(solve))(speeds);
  const Array slopes = tn::jit(tn::vmap(tn::grad(slope)))(speeds);
  for (int lane = 0; lane < 3; ++lane) {
    const double turn = speeds(lane).item<double>() * end;
    EXPECT_EQ(steps(lane).item<int>(), solve(speeds(lane)).second.item<int>());
    EXPECT_NEAR(ends(lane).item<double>(), shrink * (std::cos(turn) - 0.5 * std::sin(turn)), 1e-8);
    EXPECT_NEAR(slopes(lane).item<double>(), -shrink * end * (std::sin(turn) + 0.5 * std::cos(turn)), 1e-7);
  }
}

// Against differences of second order of the solution itself.
TEST(RungeKutta, LorenzBesideDifferences) {
  const auto height = [](const Array& rho) {
    return examples::solve_ode(Lorenz{10.0, rho, 8.0 / 3}, Array{1.0, 1.0, 1.0}, 0.0, 2.0, tight).y(2);
  };
  const auto run = tn::jit(height);
  const double by = 1e-4, difference = (run(28.0 + by).item<double>() - run(28.0 - by).item<double>()) / (2 * by);
  EXPECT_NEAR(tn::jit(tn::grad(height))(28.0).item<double>(), difference, 1e-5);
}

}  // namespace
