// Linear solvers by iterations, minimize, odeint and optimisers: beside closed forms, of trees of users' types,
// compiled, in lanes and differentiated; and the text of their errors. More of the numbers is tested in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace tn = tenon;
namespace linalg = tenon::linalg;
namespace optim = tenon::optim;
using testing::HasSubstr;
using tn::Array;
using tn::expect_close;
using tn::message_of;

namespace {

const Array symmetric{{4.0, 1.0, 0.5}, {1.0, 3.0, -0.25}, {0.5, -0.25, 2.0}},
    skew{{2.0, 1.0, 0.0}, {-1.0, 3.0, 0.5}, {0.25, 0.0, 2.0}};
const Array right{1.0, -2.0, 0.5};

// --- linear systems ---
struct Split {
  Array head, tail;
};

TEST(LinearSolvers, MatricesAndFunctions) {
  const auto product = [](Array v) { return tn::matmul(skew, v); };
  expect_close(linalg::cg(symmetric, right, {.tol = 1e-12}), tn::solve(symmetric, right), "cg", 1e-11);
  expect_close(linalg::bicgstab(product, right, {.tol = 1e-12}), tn::solve(skew, right), "bicgstab", 1e-11);
  for (const auto method : {linalg::GmresMethod::batched, linalg::GmresMethod::incremental})
    expect_close(linalg::gmres(product, right, {.tol = 1e-12, .method = method}), tn::solve(skew, right), "gmres",
                 1e-11);
  const Array near =
      linalg::cg(symmetric, right,
                 {.tol = 1e-12, .x0 = right, .preconditioner = [](Array v) { return v / Array{4.0, 3.0, 2.0}; }});
  expect_close(near, tn::solve(symmetric, right), "with a preconditioner", 1e-11);
  expect_close(linalg::cg(symmetric, right, {.maxiter = 0}), tn::zeros_like(right), "no step");
}

TEST(LinearSolvers, DerivativesAreThoseOfTheSystem) {
  const auto by = [](auto solve) { return [=](Array a, Array b) { return tn::sum(tn::sin(solve(a, b))); }; };
  const auto direct = tn::grad<0, 1>(by([](Array a, Array b) { return tn::solve(a, b); }))(skew, right);
  const auto check = [&](auto solve, const char* what) {
    expect_close(tn::jit(tn::grad<0, 1>(by(solve)))(skew, right), direct, what, 1e-9);
    expect_close(tn::jvp(by(solve), std::tuple(skew, right), std::tuple(skew, right)).second,
                 tn::sum(std::get<0>(direct) * skew) + tn::sum(std::get<1>(direct) * right), what, 1e-9);
  };
  check([](Array a, Array b) { return linalg::bicgstab(a, b, {.tol = 1e-13}); }, "bicgstab");
  check(
      [](Array a, Array b) {
        return linalg::gmres(
            [&](Array v) { return tn::matmul(a, v); }, b,
            {.tol = 1e-13, .preconditioner = [&](Array v) { return tn::matmul(tn::transpose(a), v); }});
      },
      "gmres");
}

TEST(LinearSolvers, TreesInLanes) {
  const auto solve = [](Array scale, Split b) {
    return linalg::cg([&](Split v) { return Split{2.0 * v.head + tn::sum(v.tail), scale * v.tail + v.head}; }, b,
                      {.tol = 1e-12});
  };
  const Split b{Array{3.0}, Array{1.0, 2.0}};
  const Split alone = solve(5.0, b);
  expect_close(2.0 * alone.head + tn::sum(alone.tail), b.head, "first row", 1e-11);
  const Split lanes = tn::jit(tn::vmap(solve, {.in_axes = {0, tn::none}}))(Array{5.0, 7.0}, b);
  expect_close(Split{lanes.head(1), lanes.tail(1)}, solve(7.0, b), "lane", 1e-11);
}

TEST(LinearSolvers, Errors) {
  EXPECT_THAT(message_of([] { linalg::cg(tn::ones({3, 2}), right); }),
              HasSubstr("cg: the matrix is f32[3,2], not square."));
  EXPECT_THAT(message_of([] { linalg::gmres(symmetric, tn::ones({2})); }),
              HasSubstr("gmres: the matrix is f64[3,3], and b is f32[2]."));
  EXPECT_THAT(message_of([] { linalg::gmres(symmetric, right, {.restart = 0}); }), HasSubstr("`restart` is 0."));
  EXPECT_THAT(message_of([] { linalg::bicgstab(symmetric, right, {.maxiter = -2}); }), HasSubstr("`maxiter` is -2."));
  EXPECT_THAT(message_of([] { linalg::cg([](Array) { return Array{1.0}; }, right); }),
              HasSubstr("cg: what a returns is f64[1], not f64[3]."));
  EXPECT_THAT(message_of([] { linalg::cg(symmetric, right, {.x0 = Array{1.0}}); }), HasSubstr("x0 is f64[1]"));
}

// --- minima ---
Array rosenbrock(const Array& x) {
  const Array head = x(tn::slice(0, -1)), tail = x(tn::slice(1, {}));
  return tn::sum(100.0 * tn::square(tail - tn::square(head)) + tn::square(1.0 - head));
}

TEST(Minimize, Rosenbrock) {
  const Array start{-1.2, 1.0, 0.5, -0.5};
  for (const auto method : {optim::MinimizeMethod::bfgs, optim::MinimizeMethod::lbfgs}) {
    const optim::MinimizeOptions options{.method = method, .ftol = 0.0};
    const auto found = optim::minimize(rosenbrock, start, options);
    EXPECT_TRUE(found.success.item<bool>());
    EXPECT_TRUE(tn::allclose(found.x, tn::ones_like(start), 1e-4, 1e-4)) << found.x;
    EXPECT_EQ(found.hess_inv.empty(), method == optim::MinimizeMethod::lbfgs);
    const auto place = [&](Array x) { return optim::minimize(rosenbrock, x, options).x; };
    EXPECT_TRUE(tn::allclose(tn::jit(place)(start), found.x, 1e-6, 1e-6));
    const Array lanes = tn::vmap(place)(tn::stack({start, start + 1.0}));
    EXPECT_TRUE(tn::allclose(lanes(0), found.x, 1e-6, 1e-6));
    EXPECT_TRUE(tn::allclose(lanes(1), place(start + 1.0), 1e-6, 1e-6));
  }
}

TEST(Minimize, DerivativesOfTreesByTheEquation) {
  const auto least = [](Array c) {
    const auto f = [&](Split s) {
      return tn::sum(tn::square(s.head - c)) + tn::sum(tn::square(s.tail - 2.0 * c)) + tn::sum(tn::exp(s.head));
    };
    return optim::minimize(f, Split{tn::zeros_like(c), tn::zeros_like(c)}, {.gtol = 1e-10});
  };
  const Array c{0.5, -1.0}, x = least(c).x.head;
  const Array slope = 2.0 / (2.0 + tn::exp(x));
  expect_close(tn::jit(tn::grad([&](Array c) { return tn::sum(least(c).x.head); }))(c), slope, "reverse", 1e-7);
  expect_close(tn::jvp([&](Array c) { return least(c).x.tail; }, std::tuple(c), std::tuple(c)).second, 2.0 * c,
               "forward", 1e-7);
  expect_close(tn::grad([&](Array c) { return least(c).fun; })(c), -2.0 * (x - c), "of the value", 1e-7);
}

TEST(Minimize, Errors) {
  EXPECT_THAT(message_of([] { optim::minimize([](Array x) { return x; }, right); }),
              HasSubstr("minimize: the function returns f64[3], not one number."));
  EXPECT_THAT(message_of([] { optim::minimize(rosenbrock, right, {.history = 0}); }),
              HasSubstr("`history` is less than 1"));
  EXPECT_THAT(message_of([] { optim::minimize([](Array x) { return tn::sum(x); }, tn::complex(right, right)); }),
              HasSubstr("the function returns c128[], not a real number."));
}

// --- differential equations ---
TEST(Odeint, ClosedFormsAndTheirDerivatives) {
  const Array times{0.0, 0.25, 1.0, 3.0};
  const auto circle = [](Array speed, Split start, Array times) {
    return tn::odeint([&](Split y, Array) { return Split{speed * y.tail, -speed * y.head}; }, start, times);
  };
  const Split start{Array(0.0), Array(1.0)};
  const Array speed(2.0), angle = speed * times;
  const Split path = tn::jit(circle)(speed, start, times);
  expect_close(path.head, tn::sin(angle), "sine", 1e-6);
  expect_close(path.tail, tn::cos(angle), "cosine", 1e-6);
  const auto heights = [&](Array speed, Array times) { return tn::sum(circle(speed, start, times).head); };
  const auto [of_speed, of_times] = tn::jit(tn::grad<0, 1>(heights))(speed, times);
  expect_close(of_speed, tn::sum(times * tn::cos(angle)), "speed", 1e-6);
  expect_close(of_times(tn::slice(1, {})), (speed * tn::cos(angle))(tn::slice(1, {})), "times", 1e-6);
  expect_close(of_times(0), -speed * tn::sum(tn::cos(angle)(tn::slice(1, {}))), "the first time", 1e-6);
  const Array second = tn::grad(tn::grad([&](Array s) { return heights(s, times); }))(speed);
  expect_close(second, -tn::sum(times * times * tn::sin(angle)), "second", 1e-5);
  const auto by_steps = [&](Array speed) {
    return tn::odeint([&](Array y, Array) { return -speed * y; }, Array(1.0), times, {.adjoint = false});
  };
  expect_close(tn::jacfwd(by_steps)(speed), -times * tn::exp(-angle), "by steps", 1e-6);
}

TEST(Odeint, Errors) {
  const auto decay = [](Array y, Array) { return -y; };
  EXPECT_THAT(message_of([&] { tn::odeint(decay, right, 1.0); }),
              HasSubstr("odeint: t is f64[], not a vector of times."));
  EXPECT_THAT(message_of([&] { tn::odeint(decay, right, Array{0, 1}); }), HasSubstr("not real numbers"));
  EXPECT_THAT(message_of([&] { tn::odeint([](Array y, Array) { return tn::sum(y); }, right, Array{0.0, 1.0}); }),
              HasSubstr("odeint: what f returns is f64[], not f64[3]."));
  EXPECT_THAT(message_of([&] { tn::odeint(decay, right, Array{0.0, 1.0}, {.rtol = -1}); }), HasSubstr("tolerances"));
}

// --- optimisers ---
TEST(Optim, FindAMinimum) {
  const Split target{Array{1.0, -2.0}, Array(0.5f)};
  const auto loss = [&](Split p) {
    return tn::sum(tn::square(p.head - target.head)) + tn::convert(tn::square(p.tail - target.tail), tn::DType::f64);
  };
  const optim::Optimizer all[] = {
      optim::sgd(0.1),
      optim::sgd(0.05, {.momentum = 0.9, .nesterov = true}),
      optim::adam(0.1),
      optim::adamw(optim::cosine_decay_schedule(0.2, 200)),
      optim::lion(optim::linear_schedule(0.05, 0.0, 200)),
      optim::rmsprop(optim::exponential_decay(0.1, 20, 0.7)),
      optim::adagrad(0.5),
      optim::chain({optim::clip_by_global_norm(1.0), optim::clip(0.9), optim::scale(1.0), optim::adam(0.1)}),
      optim::adam(optim::warmup_cosine_decay_schedule(0.0, 0.2, 10, 200))};
  for (const optim::Optimizer& rule : all) {
    const auto step = tn::jit([&](Split params, optim::State state) {
      const auto [updates, next] = rule.update(tn::grad(loss)(params), state, params);
      return std::pair(optim::apply_updates(params, updates), next);
    });
    Split params{tn::zeros({2}, tn::DType::f64), tn::zeros({})};
    optim::State state = rule.init(params);
    for (int i = 0; i < 200; ++i) std::tie(params, state) = step(params, state);
    EXPECT_TRUE(tn::allclose(params.head, target.head, 0.05, 0.05)) << params.head;
    EXPECT_NEAR(params.tail.item<float>(), 0.5, 0.05);
    EXPECT_EQ(params.tail.dtype(), tn::DType::f32);
  }
}

TEST(Optim, PartsOfAChain) {
  const Array params{1.0, -2.0}, gradient{3.0, 4.0};
  const auto updates_of = [&](const optim::Optimizer& rule) {
    return rule.update(gradient, rule.init(params), params).first;
  };
  EXPECT_TRUE(tn::array_equal(updates_of(optim::scale_by_learning_rate(0.5)), -0.5 * gradient));
  EXPECT_TRUE(tn::array_equal(updates_of(optim::add_decayed_weights(0.5)), gradient + 0.5 * params));
  EXPECT_TRUE(tn::array_equal(updates_of(optim::clip(3.5)), Array{3.0, 3.5}));
}

TEST(Optim, AdamByHandAndErrors) {
  const optim::Optimizer rule = optim::adam(0.1);
  Array p(tn::Scalar(1.0));
  optim::State state = rule.init(p);
  double x = 1, m = 0, v = 0;
  for (int t = 1; t < 6; ++t) {
    const auto [update, next] = rule.update(2.0 * p, state, p);
    p = optim::apply_updates(p, update), state = next;
    const double g = 2 * x;
    m = 0.9 * m + 0.1 * g, v = 0.999 * v + 0.001 * g * g;
    x -= 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    EXPECT_NEAR(p.item<double>(), x, 1e-12);
  }
  EXPECT_NEAR(optim::global_norm(Split{Array{3.0}, Array(4.0)}).item<double>(), 5, 1e-12);
  EXPECT_THAT(message_of([&] { rule.update(p, optim::State{}, p); }), HasSubstr("the state has 0 arrays, not 3."));
}

}  // namespace
