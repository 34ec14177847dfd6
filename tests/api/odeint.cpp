// odeint_end beside a linear equation's solution in closed form, and odeint; its steps, its derivatives with and
// without the adjoint, errors.
#include "tenon/api/odeint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../error_message.h"
#include "examples/lorenz.h"

namespace tn = tenon;
using examples::Lorenz;
using tn::Array;

namespace {

// y' = [[-a, -w], [w, -a]] y: y(T) = e^{-aT} R(wT) y0, and the adjoint equation runs it backwards.
struct Spiral {
  Array a, w;
  Array operator()(const Array& y, const Array&) const {
    return tn::stack({-a * y(0) - w * y(1), w * y(0) - a * y(1)});
  }
};
constexpr double a = 0.3, w = 2.0, end = 1.7, start[2] = {1.0, 0.5}, weight[2] = {2.0, -1.0};
const double shrink = std::exp(-a * end), c = std::cos(w * end), s = std::sin(w * end);
const double last[2] = {shrink * (c * start[0] - s * start[1]), shrink*(s* start[0] + c * start[1])};

const tn::OdeOptions by_steps{.rtol = 1e-10, .atol = 1e-12, .adjoint = false}, by_adjoint{.rtol = 1e-10, .atol = 1e-12};
Array weighted(const Spiral& spiral, const Array& y0, const Array& t1, const tn::OdeOptions& options = by_steps) {
  return tn::dot(Array{weight[0], weight[1]}, tn::odeint_end(spiral, y0, 0.0, t1, options).y);
}
const Spiral spiral{a, w};
const Array y0{start[0], start[1]};

TEST(OdeintEnd, TheEndIsTheClosedForm) {
  const auto solve = [](const Spiral& f, const Array& from) { return tn::odeint_end(f, from, 0.0, end, by_steps); };
  for (const auto& solution : {solve(spiral, y0), tn::jit(solve)(spiral, y0)}) {
    EXPECT_NEAR(solution.y(0).item<double>(), last[0], 1e-9);
    EXPECT_NEAR(solution.y(1).item<double>(), last[1], 1e-9);
    EXPECT_GT(solution.accepted.item<int>(), 10);
  }
}

TEST(OdeintEnd, ToleranceDecidesTheError) {
  double error_before = 1;
  int steps_before = 0;
  for (const double tolerance : {1e-3, 1e-5, 1e-7, 1e-9}) {
    const auto solution = tn::odeint_end(spiral, y0, 0.0, end, {.rtol = tolerance, .atol = tolerance});
    const double error = std::abs(solution.y(0).item<double>() - last[0]);
    EXPECT_LT(error, 10 * tolerance);
    EXPECT_LT(error, error_before);
    EXPECT_GT(solution.accepted.item<int>(), steps_before);
    error_before = error, steps_before = solution.accepted.item<int>();
  }
}

// dL/dy0 = e^{-aT} R(wT)^T weight; dL/da = -T weight·y(T); dL/dw = T weight·J y(T); dL/dT = weight·A y(T).
TEST(OdeintEnd, GradientsAreTheAdjoint) {
  const double of_a = -end * (weight[0] * last[0] + weight[1] * last[1]),
               of_w = end * (-weight[0] * last[1] + weight[1] * last[0]),
               of_end = weight[0] * (-a * last[0] - w * last[1]) + weight[1] * (w * last[0] - a * last[1]);
  for (const auto& options : {by_steps, by_adjoint}) {
    const auto gradient = tn::grad<0, 1, 2>(
        [options](const Spiral& f, const Array& from, const Array& to) { return weighted(f, from, to, options); });
    for (const auto& [of_spiral, of_start, of_time] : {gradient(spiral, y0, end), tn::jit(gradient)(spiral, y0, end)}) {
      EXPECT_NEAR(of_spiral.a.item<double>(), of_a, 1e-8);
      EXPECT_NEAR(of_spiral.w.item<double>(), of_w, 1e-8);
      EXPECT_NEAR(of_time.item<double>(), of_end, 1e-8);
      EXPECT_NEAR(of_start(0).item<double>(), shrink * (c * weight[0] + s * weight[1]), 1e-9);
      EXPECT_NEAR(of_start(1).item<double>(), shrink * (-s * weight[0] + c * weight[1]), 1e-9);
    }
  }
}

TEST(OdeintEnd, ForwardModeAndSecondOrder) {
  const auto of_parameter = [](const Array& a) { return weighted({a, w}, y0, end); };
  const double value = weight[0] * last[0] + weight[1] * last[1];
  EXPECT_NEAR(tn::jvp(of_parameter, std::tuple(Array(a)), std::tuple(Array(1.0))).second.item<double>(), -end * value,
              1e-8);
  EXPECT_NEAR(tn::jit(tn::grad(tn::grad(of_parameter)))(a).item<double>(), end * end * value, 1e-6);
}

// Lanes take as many steps as they need.
TEST(OdeintEnd, LanesWithStepsOfTheirOwn) {
  const Array speeds{0.5, 2.0, 9.0};
  const auto solve = [](const Array& speed) {
    const auto solution = tn::odeint_end(Spiral{a, speed}, y0, 0.0, end, by_steps);
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
TEST(OdeintEnd, LorenzBesideDifferences) {
  const auto height = [](const Array& rho) {
    return tn::odeint_end(Lorenz{10.0, rho, 8.0 / 3}, Array{1.0, 1.0, 1.0}, 0.0, 2.0, by_steps).y(2);
  };
  const auto run = tn::jit(height);
  const double by = 1e-4, difference = (run(28.0 + by).item<double>() - run(28.0 - by).item<double>()) / (2 * by);
  EXPECT_NEAR(tn::jit(tn::grad(height))(28.0).item<double>(), difference, 1e-5);
}

TEST(OdeintEnd, TreesAndDtypesAsOdeint) {
  using Pair = std::pair<Array, Array>;
  const auto swing = [](const Pair& y, const Array&) { return Pair(y.second, -y.first); };
  const Pair from(Array{0.0, 1.0}, Array{1.0, 0.0});
  const auto there = tn::odeint_end(swing, from, 0.0, 1.0);
  const Pair wanted = tn::odeint(swing, from, Array{0.0, 1.0});
  for (const std::int64_t i : {0, 1}) {
    EXPECT_NEAR(there.y.first(i).item<double>(), wanted.first(1, i).item<double>(), 1e-7);
    EXPECT_NEAR(there.y.second(i).item<double>(), wanted.second(1, i).item<double>(), 1e-7);
  }
  const auto turn = [](const Array& y, const Array&) { return tn::complex(-tn::imag(y), tn::real(y)); };
  const auto circle = tn::odeint_end(turn, Array(std::complex<double>(1, 0)), 0.0, 1.0).y;
  EXPECT_NEAR(tn::real(circle).item<double>(), std::cos(1), 1e-7);
  const auto fall = [](const Array& y, const Array&) { return -y; };
  for (const tn::DType dtype : {tn::DType::f16, tn::DType::bf16, tn::DType::f32}) {
    const Array y = tn::odeint_end(fall, tn::ones({3}, dtype), 0, 1, {.rtol = 1e-3, .atol = 1e-3}).y;
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_NEAR(tn::convert(y(0), tn::DType::f64).item<double>(), std::exp(-1), 5e-3);
  }
  EXPECT_EQ(tn::odeint_end(fall, Array(1), 0.0, 1.0).y.dtype(), tn::DType::f32);
  EXPECT_EQ(tn::odeint_end(fall, tn::zeros({0, 3}), 0.0, 1.0).y.shape(), (tn::Shape{0, 3}));
}

TEST(OdeintEnd, EndsThatAreNotReached) {
  const auto fall = [](const Array& y, const Array&) { return -y; };
  const auto there = [&](double t0, double t1, const tn::OdeOptions& options = {}) {
    return tn::odeint_end(fall, Array(1.0), t0, t1, options).y.item<double>();
  };
  EXPECT_EQ(there(1, 1), 1);
  EXPECT_TRUE(std::isnan(there(1, 0.5)));
  EXPECT_TRUE(std::isnan(there(0, 50, {.mxstep = 3})));
  EXPECT_TRUE(std::isnan(
      tn::odeint_end([](const Array& y, const Array&) { return y * y; }, Array(1.0), 0.0, 2.0).y.item<double>()));
  EXPECT_GE(tn::odeint_end(fall, Array(1.0), 0.0, 1.0, {.hmax = 0.01}).accepted.item<int>(), 100);
}

TEST(OdeintEnd, Errors) {
  const auto fall = [](const Array& y, const Array&) { return -y; };
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::odeint_end(fall, y0, Array{0.0, 1.0}, 1.0); }),
              testing::HasSubstr("odeint_end: a time is f64[2], not a number."));
  EXPECT_THAT(tn::message_of<tn::DTypeError>([&] { tn::odeint_end(fall, y0, Array{0}(0), Array{1}(0)); }),
              testing::HasSubstr("odeint_end: t is i32[], not real numbers."));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::odeint_end(fall, y0, 0.0, 1.0, {.rtol = -1}); }),
              testing::HasSubstr("odeint_end: tolerances are negative"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>(
                  [&] { tn::odeint_end([](const Array& y, const Array&) { return tn::sum(y); }, y0, 0.0, 1.0); }),
              testing::HasSubstr("odeint_end: what f returns is f64[], not f64[2]."));
}

}  // namespace
