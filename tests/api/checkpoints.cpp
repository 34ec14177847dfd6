// Loops with checkpoints: their derivatives beside those of the plain loop, of any order and in any nesting; what they
// keep; and the text of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::Arrays;
using tn::expect_close;
using tn::message_of;
using tn::numbers;

namespace {

// A scan with xs, ys, captured weights, and carries of which one is an integer and one a bool.
auto scanned(std::optional<tn::Checkpoints> checkpoint, bool reverse, std::int64_t unroll = 1) {
  return [=](Array c, Array xs, Array w) {
    const auto [end, ys] = tn::scan(
        [&](std::tuple<Array, Array, Array> s, std::tuple<Array, Array> x) {
          const auto [v, i, odd] = s;
          const Array next = tn::sin(v * w + std::get<0>(x)) + std::get<1>(x)(0) * tn::convert(i, tn::DType::f64);
          const Array chosen = tn::where(odd, next, next * 0.5 + v);
          return std::pair(std::tuple(chosen, i + 1, !odd), std::pair(chosen * w, tn::sum(next)));
        },
        std::tuple(c, Array(0), Array(true)), std::tuple(xs, xs(tn::all, tn::slice(0, 2))),
        {.reverse = reverse, .unroll = unroll, .checkpoint = checkpoint});
    return tn::sum(std::get<0>(end)) + tn::sum(tn::square(ys.first)) + tn::sum(ys.second);
  };
}

std::vector<tn::Checkpoints> schedules() {
  return {tn::every(1),    tn::every(3),    tn::every(100),   tn::binomial(1),
          tn::binomial(2), tn::binomial(5), tn::binomial(100)};
}

TEST(Checkpoints, OfAScanGiveTheDerivativeOfThePlainLoop) {
  const Array c = numbers({3}), w = numbers({3}, 0.3);
  for (const std::int64_t n : {0, 1, 2, 7, 12})
    for (const bool reverse : {false, true}) {
      const Array xs = numbers({n, 3}, 0.2);
      const auto want = tn::value_and_grad<0, 1, 2>(scanned(std::nullopt, reverse))(c, xs, w);
      for (const tn::Checkpoints& schedule : schedules()) {
        SCOPED_TRACE(testing::Message() << n << " steps, reverse " << reverse << ", "
                                        << (schedule.kind == tn::CheckpointKind::every ? "every " : "binomial ")
                                        << schedule.count);
        const auto derivative = tn::value_and_grad<0, 1, 2>(scanned(schedule, reverse));
        expect_close(tn::jit(derivative)(c, xs, w), want, "compiled");
      }
    }
}

TEST(Checkpoints, AsTheOracleSays) {
  const Array c = numbers({3}), w = numbers({3}, 0.3), xs = numbers({7, 3}, 0.2);
  for (const tn::Checkpoints& schedule : {tn::every(3), tn::binomial(2)}) {
    const auto derivative = tn::value_and_grad<0, 1, 2>(scanned(schedule, true));
    const auto want = [&] {
      const tn::ByOracle oracle;
      return tn::value_and_grad<0, 1, 2>(scanned(std::nullopt, true))(c, xs, w);
    }();
    const auto evaluated = [&] {
      const tn::ByOracle oracle;
      return derivative(c, xs, w);
    }();
    expect_close(evaluated, want, "evaluated");
    expect_close(derivative(c, xs, w), want, "eager");
  }
}

TEST(Checkpoints, BesideStepsWrittenOut) {
  const Array c = numbers({3}), w = numbers({3}, 0.3), xs = numbers({13, 3}, 0.2);
  const auto want = tn::grad<0, 1, 2>(scanned(std::nullopt, false))(c, xs, w);
  for (const tn::Checkpoints& schedule : {tn::every(4), tn::binomial(2)})
    expect_close(tn::jit(tn::grad<0, 1, 2>(scanned(schedule, false, 2)))(c, xs, w), want, "unrolled");
}

// Steps that data decide: about log of the carry's size over how far it is from its end.
auto repeated(std::optional<std::int64_t> checkpoints) {
  return [=](Array x, Array w, Array limit) {
    const auto end = tn::while_loop(
        [&](std::pair<Array, Array> s) { return (tn::sum(s.first) < limit) & (s.second < 60); },
        [&](std::pair<Array, Array> s) { return std::pair(s.first + 0.1 * tn::cos(s.first * w), s.second + 1); },
        std::pair(x, Array(0)), {.checkpoints = checkpoints});
    return tn::sum(end.first * tn::convert(end.second, tn::DType::f64));
  };
}

TEST(Checkpoints, OfAWhileGiveTheDerivativeOfThePlainLoop) {
  const Array x = numbers({3}), w = numbers({3}, 0.3);
  for (const double limit : {-9.0, 0.2, 0.4, 2.0, 3.0, 100.0}) {
    const auto want = tn::value_and_grad<0, 1>(repeated(std::nullopt))(x, w, limit);
    for (const std::int64_t n : {1, 2, 3, 8, 64}) {
      SCOPED_TRACE(testing::Message() << "to " << limit << ", " << n << " checkpoints");
      const auto derivative = tn::value_and_grad<0, 1>(repeated(n));
      expect_close(tn::jit(derivative)(x, w, Array(limit)), want, "compiled");
    }
  }
}

TEST(Checkpoints, AgreeWithDifferences) {
  const Array x = numbers({3}), w = numbers({3}, 0.3), v = numbers({3}, 1.0);
  const auto f = repeated(3);
  const double h = 1e-6, limit = 2.0;
  const Array difference = (f(x + h * v, w, limit) - f(x - h * v, w, limit)) / (2 * h);
  const Array slope = tn::sum(tn::tree::leaves(tn::grad<0>(f)(x, w, Array(limit)))[0] * v);
  EXPECT_TRUE(tn::allclose(slope, difference, 1e-7)) << slope << " for " << difference;
}

TEST(Checkpoints, ForwardModeIsThatOfThePlainLoop) {
  const Array x = numbers({3}), w = numbers({3}, 0.3), v = numbers({3}, 1.0);
  const auto along = [&](auto f) {
    return tn::jit([f, w](Array x, Array v) {
      return tn::jvp([&](Array x) { return f(x, w, Array(2.0)); }, std::tuple(x), std::tuple(v));
    })(x, v);
  };
  expect_close(along(repeated(3)), along(repeated(std::nullopt)), "jvp");
}

TEST(Checkpoints, OfSecondDerivatives) {
  const Array x = numbers({3}), w = numbers({3}, 0.3), v = numbers({3}, 1.0);
  const auto of = [&](std::optional<std::int64_t> n) { return [=](Array x) { return repeated(n)(x, w, Array(1.0)); }; };
  const Array want = tn::jacfwd(tn::jacfwd(of(std::nullopt)))(x);
  for (const std::int64_t n : {1, 2, 5}) {
    SCOPED_TRACE(n);
    expect_close(tn::jit(tn::hessian(of(n)))(x), want, "forward over reverse", 1e-11);
    expect_close(tn::jit(tn::grad([&](Array x) { return tn::sum(tn::grad(of(n))(x) * v); }))(x), tn::matmul(want, v),
                 "reverse over reverse", 1e-11);
    expect_close(tn::jit(tn::jacrev(tn::jacfwd(of(n))))(x), want, "reverse over forward", 1e-11);
  }
}

TEST(Checkpoints, OfSecondDerivativesOfAScan) {
  const Array c = numbers({2}), w = numbers({2}, 0.3), xs = numbers({6, 2}, 0.2);
  const auto of = [&](std::optional<tn::Checkpoints> schedule) {
    return [=](Array xs) { return scanned(schedule, false)(c, xs, w); };
  };
  const Array want = tn::jacfwd(tn::jacfwd(of(std::nullopt)))(xs);
  for (const tn::Checkpoints& schedule : {tn::every(2), tn::binomial(2)}) {
    expect_close(tn::jit(tn::hessian(of(schedule)))(xs), want, "forward over reverse", 1e-11);
    expect_close(tn::jit(tn::jacrev(tn::jacrev(of(schedule))))(xs), want, "reverse over reverse", 1e-11);
  }
}

TEST(Checkpoints, OfLanesThatEndApart) {
  const Array x = numbers({5, 3}), w = numbers({3}, 0.3), limits = Array{-9.0, 0.2, 1.0, 3.0, 2.0};
  for (const std::int64_t n : {1, 2, 8}) {
    const auto gradient = tn::grad<0, 1>(repeated(n));
    const auto lanes = tn::jit(tn::vmap(gradient, {.in_axes = {0, tn::none, 0}}))(x, w, limits);
    const auto of_sum = tn::jit(tn::grad<0, 1>([&](Array x, Array w) {
      return tn::sum(tn::vmap(repeated(n), {.in_axes = {0, tn::none, 0}})(x, w, limits));
    }))(x, w);
    Array total = tn::zeros({3}, tn::DType::f64);
    for (std::int64_t l = 0; l < 5; ++l) {
      const auto [dx, dw] = tn::grad<0, 1>(repeated(std::nullopt))(x(l), w, limits(l));
      expect_close(std::get<0>(lanes)(l), dx, "vmap of grad");
      expect_close(std::get<1>(lanes)(l), dw, "vmap of grad");
      expect_close(std::get<0>(of_sum)(l), dx, "grad of vmap");
      total += dw;
    }
    expect_close(std::get<1>(of_sum), total, "grad of vmap");
  }
}

TEST(Checkpoints, OfLanesOfAScan) {
  const Array c = numbers({4, 3}), w = numbers({3}, 0.3), xs = numbers({4, 7, 3}, 0.2);
  for (const tn::Checkpoints& schedule : schedules()) {
    const auto gradient = tn::grad<0, 1, 2>(scanned(schedule, false));
    const auto plain = tn::grad<0, 1, 2>(scanned(std::nullopt, false));
    const auto axes = tn::VmapOptions{.in_axes = {0, 0, tn::none}};
    expect_close(tn::jit(tn::vmap(gradient, axes))(c, xs, w), tn::vmap(plain, axes)(c, xs, w), "lanes");
  }
}

// A while in a scan, both with checkpoints; a while that a branch may take.
auto nested(std::optional<tn::Checkpoints> outer, std::optional<std::int64_t> inner) {
  return [=](Array x, Array w) {
    const auto end = tn::scan(
        [&](Array c, Array t) {
          const auto longer = [&](Array v) {
            return tn::while_loop([&](std::pair<Array, Array> s) { return s.second < t; },
                                  [&](std::pair<Array, Array> s) {
                                    return std::pair(tn::sin(s.first * w) + s.first, s.second + 1);
                                  },
                                  std::pair(v, Array(0)), {.checkpoints = inner})
                .first;
          };
          const Array next = tn::cond(t % 3 != 1, longer, [](Array v) { return v * 1.5; }, c);
          return std::pair(next, tn::sum(next * next));
        },
        x, tn::arange(9), {.checkpoint = outer});
    return tn::sum(end.first) + 0.1 * tn::sum(end.second);
  };
}

TEST(Checkpoints, InEachOther) {
  const Array x = numbers({2}), w = numbers({2}, 0.3);
  const auto want = tn::value_and_grad<0, 1>(nested(std::nullopt, std::nullopt))(x, w);
  using Outer = std::optional<tn::Checkpoints>;
  for (const Outer& outer : {Outer(), Outer(tn::every(2)), Outer(tn::binomial(2))})
    for (const std::optional<std::int64_t> inner : {std::optional<std::int64_t>(), std::optional<std::int64_t>(2)}) {
      SCOPED_TRACE(testing::Message() << outer.has_value() << inner.has_value());
      expect_close(tn::jit(tn::value_and_grad<0, 1>(nested(outer, inner)))(x, w), want, "nested", 1e-11);
    }
  const auto both = tn::grad(nested(tn::binomial(2), 2));
  const auto lanes = tn::jit(tn::vmap(both, {.in_axes = {0, tn::none}}))(numbers({3, 2}), w);
  for (std::int64_t l = 0; l < 3; ++l)
    expect_close(lanes(l), tn::grad(nested(std::nullopt, std::nullopt))(numbers({3, 2})(l), w), "lanes", 1e-11);
}

TEST(Checkpoints, OfBuffersAndComplexNumbers) {
  const auto f = [](std::optional<std::int64_t> n) {
    return [=](Array x) {
      const auto end = tn::while_loop(
          [](std::pair<Array, Array> s) { return s.second < 17; },
          [](std::pair<Array, Array> s) {
            const Array i = s.second % 4;
            return std::pair(s.first.at(i).set(tn::sin(s.first(i) + 0.5 * s.first((i + 1) % 4))), s.second + 1);
          },
          std::pair(x, Array(0)), {.checkpoints = n});
      const Array z = tn::while_loop([](std::pair<Array, Array> s) { return s.second < 9; },
                                     [](std::pair<Array, Array> s) {
                                       return std::pair(s.first * s.first * 0.7 + s.first, s.second + 1);
                                     },
                                     std::pair(tn::convert(x, tn::DType::c128), Array(0)), {.checkpoints = n})
                          .first;
      return tn::sum(end.first * tn::arange(4)) + tn::sum(tn::square(tn::abs(z)));
    };
  };
  const Array x = numbers({4});
  for (const std::int64_t n : {1, 3}) expect_close(tn::jit(tn::grad(f(n)))(x), tn::grad(f(std::nullopt))(x), "buffers");
}

// Bounds that are numbers, and such as data decide.
TEST(Checkpoints, OfAForiLoop) {
  const auto f = [](std::optional<tn::Checkpoints> schedule, bool known) {
    return [=](Array x, Array w, Array upper) {
      const auto body = [&](Array i, Array c) { return tn::sin(c * w) + tn::convert(i, tn::DType::f64) * 0.1; };
      const Array end = known ? tn::fori_loop(2, 13, body, x, {.checkpoint = schedule})
                              : tn::fori_loop(2, upper, body, x, {.checkpoint = schedule});
      return tn::sum(tn::square(end));
    };
  };
  const Array x = numbers({3}), w = numbers({3}, 0.3), upper(13);
  const auto want = tn::value_and_grad<0, 1>(f(std::nullopt, true))(x, w, upper);
  for (const tn::Checkpoints& schedule : schedules()) {
    expect_close(tn::value_and_grad<0, 1>(f(schedule, true))(x, w, upper), want, "known");
    expect_close(tn::jit(tn::value_and_grad<0, 1>(f(schedule, true)))(x, w, upper), want, "known, jitted");
    if (schedule.kind == tn::CheckpointKind::binomial)
      expect_close(tn::jit(tn::value_and_grad<0, 1>(f(schedule, false)))(x, w, upper), want, "decided");
  }
  const std::string message = message_of<tn::ShapeError>([&] { tn::grad<0>(f(tn::every(3), false))(x, w, upper); });
  EXPECT_THAT(message, AllOf(HasSubstr("fori_loop: every(3) keeps as many carries as there are steps"),
                             HasSubstr("Use binomial(n)"), HasSubstr("checkpoints.cpp")));
  const auto bytes = [](std::optional<tn::Checkpoints> schedule) {
    return tn::saved_residuals([=](Array v) {
             return tn::sum(
                 tn::fori_loop(0, 1000, [](Array, Array c) { return tn::sin(c); }, v, {.checkpoint = schedule}));
           })(tn::ones({100}, tn::DType::f64))
        .bytes();
  };
  EXPECT_GE(bytes(std::nullopt), 1000 * 800);
  EXPECT_LE(bytes(tn::every(50)), 20 * 800 + 100);
}

// --- what is kept ---
std::int64_t kept(std::int64_t steps, std::optional<tn::Checkpoints> schedule) {
  return tn::saved_residuals([=](Array x) {
           return tn::sum(tn::scan([](Array c, Array t) { return std::pair(tn::sin(c) + t, std::tuple<>()); }, x,
                                   tn::zeros({steps}, tn::DType::f64), {.checkpoint = schedule})
                              .first);
         })(tn::ones({100}, tn::DType::f64))
      .bytes();
}

TEST(Checkpoints, KeepWhatTheySay) {
  const std::int64_t carry = 800;
  EXPECT_GE(kept(1000, std::nullopt), 1000 * carry);
  EXPECT_LE(kept(1000, tn::every(50)), 20 * carry + 100);
  EXPECT_LE(kept(1000, tn::binomial(10)), 10 * carry + 200);
  EXPECT_EQ(kept(1000, tn::binomial(10)), kept(100000, tn::binomial(10)));
}

// --- sizes that vary ---
TEST(Checkpoints, OfSymbolicSteps) {
  for (const tn::Checkpoints& schedule : {tn::every(3), tn::binomial(2)}) {
    const auto gradient = tn::jit(tn::grad<0, 1, 2>(scanned(schedule, true)));
    for (const std::int64_t n : {2, 5, 12, 30, 7, 13}) {
      const Array c = numbers({3}), w = numbers({3}, 0.3), xs = numbers({n, 3}, 0.2);
      expect_close(gradient(c, xs, w), tn::grad<0, 1, 2>(scanned(std::nullopt, true))(c, xs, w), "symbolic");
    }
  }
}

// --- errors ---
TEST(Checkpoints, OfAnImpossibleNumber) {
  EXPECT_THAT(message_of([] { tn::every(0); }), AllOf(HasSubstr("every: a carry is to be kept of every 0 steps"),
                                                      HasSubstr("Give a number of steps from 1 on")));
  EXPECT_THAT(message_of([] { tn::binomial(-3); }),
              AllOf(HasSubstr("binomial: -3 carries are to be kept"), HasSubstr("at least one")));
  EXPECT_THAT(message_of([] { repeated(0)(numbers({3}), numbers({3}), Array(1.0)); }),
              AllOf(HasSubstr("while_loop: 0 carries are to be kept"), HasSubstr("checkpoints.cpp")));
}

}  // namespace
