// While loops whose lanes take different numbers of steps, and what their derivatives keep in lists: batched at several
// levels, read in branches and in loops, under further derivatives. Against loops over lanes and finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;
using tn::Dim;

namespace {

using Function = std::function<Array(const Array&)>;  // f64[…] -> f64[]

// sqrt(a) until it is close: as many steps as the start is far away.
Array newton_root(const Array& a) {
  return tn::while_loop([&](const Array& s) { return tn::abs(s * s - a) > 1e-10; },
                        [&](const Array& s) { return (s + a / s) * 0.5; }, a * 0.5 + 0.6);
}
// Grows to ten; no step at all from above.
Array grown(const Array& a) {
  return tn::while_loop([](const Array& s) { return s < 10.0; },
                        [](const Array& s) { return s * 1.2 + tn::sin(s) * 0.3 + 0.4; }, a);
}

std::vector<double> numbers(const Array& a) {
  const tn::Buffer b = a.to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}

// The gradient of f at x against finite differences; under jit too.
void expect_gradient(const Function& f, const Array& x, double tolerance = 1e-6) {
  const std::vector<double> got = numbers(tn::grad(f)(x)), compiled = numbers(tn::jit(tn::grad(f))(x)), at = numbers(x);
  constexpr double h = 1e-5;
  const auto moved = [&](std::size_t i, double by) {
    std::vector<double> y = at;
    y[i] += by;
    return f(tn::reshape(tn::array<double>(y), x.shape())).item<double>();
  };
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double want = (moved(i, h) - moved(i, -h)) / (2 * h);
    EXPECT_NEAR(got[i], want, tolerance * (1 + std::abs(want))) << "element " << i;
    EXPECT_NEAR(compiled[i], want, tolerance * (1 + std::abs(want))) << "element " << i << ", compiled";
  }
}
// Each element of vmap(f) against f of the lane alone.
void expect_lanes(const Function& f, const Array& xs) {
  const Array got = tn::vmap(f)(xs);
  tn::Arrays want;
  for (std::int64_t i = 0; i < xs.dim(0).value(); ++i) want.push_back(f(xs(i)));
  const std::vector<double> g = numbers(got), w = numbers(tn::stack(want));
  ASSERT_EQ(g.size(), w.size());
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(g[i], w[i], 1e-9 * (1 + std::abs(w[i]))) << "element " << i;
}

const Array starts = {0.3, 40.0, 2.0, 12.0, 0.9};

Array branching(const Array& x, const Array& threshold) {
  return tn::cond(
      x > threshold, [](const Array& v) { return newton_root(v + 1.0); }, [](const Array& v) { return grown(v) * v; },
      x);
}

TEST(Lanes, ConditionsAreComputedOnceAStep) {
  const auto f = [](const Array& x) { return tn::vmap(newton_root)(x); };
  std::ostringstream text;
  text << tn::trace(f)(starts);
  const std::string program = text.str();
  int count = 0;
  for (std::size_t at = program.find("abs"); at != std::string::npos; at = program.find("abs", at + 1)) ++count;
  EXPECT_EQ(count, 2) << program;  // before the loop, and behind its body
}

// The lists of the inner batch are the same for all outer lanes; only the choice among them differs.
TEST(Lanes, OuterLanesThatOnlyChoose) {
  const Function f = [](const Array& thresholds) {
    return tn::vmap([&](const Array& t) {
      return tn::sum(tn::vmap([&](const Array& x) {
                       return tn::grad([&](const Array& v) { return branching(v, t); })(x);
                     })(starts) *
                     tn::arange(5.0));
    })(thresholds);
  };
  const Array thresholds = {-1.0, 1.0, 100.0};
  const std::vector<double> got = numbers(f(thresholds));
  for (std::int64_t i = 0; i < 3; ++i) {
    double want = 0;
    for (std::int64_t k = 0; k < 5; ++k)
      want += static_cast<double>(k) *
              tn::grad([&](const Array& v) { return branching(v, thresholds(i)); })(starts(k)).item<double>();
    EXPECT_NEAR(got[static_cast<std::size_t>(i)], want, 1e-9 * (1 + std::abs(want)));
  }
}

// A second derivative through lanes that choose between branches with loops.
TEST(Lanes, GradientOfBatchedGradientsOfBranches) {
  const Function f = [](const Array& xs) {
    return tn::sum(tn::sin(tn::vmap(tn::grad([](const Array& v) { return branching(v * v, v * 0.5 + 1.0); }))(xs)));
  };
  expect_gradient(f, starts * 0.5 + 0.05);
}

// What a loop keeps is read in one branch only: of lanes that take the other it is zero, however many steps they took.
TEST(Lanes, PullbacksInBranches) {
  const auto pulled = [](const Array& x) {
    const auto [y, pull] = tn::vjp(newton_root, x);
    return tn::cond(
               x > 1.0, [&](const Array& ct) { return std::get<0>(pull(ct)); }, [](const Array& ct) { return ct * ct; },
               y) *
           y;
  };
  expect_lanes(pulled, starts);
  expect_lanes(tn::grad(pulled), starts);
  expect_lanes(tn::grad(tn::grad(pulled)), starts);
  expect_gradient([&](const Array& xs) { return tn::sum(tn::vmap(pulled)(xs)); }, starts);
  expect_gradient([&](const Array& xs) { return tn::sum(tn::vmap(tn::grad(pulled))(xs)); }, starts, 1e-5);
}

// A list that every step of a loop reads: the sum of its cotangents is a list too.
TEST(Lanes, PullbacksInLoops) {
  const auto pulled = [](const Array& x) {
    const auto [y, pull] = tn::vjp(newton_root, x);
    const Array total =
        tn::scan(
            [&](const Array& c, const Array& w) { return std::pair(c + std::get<0>(pull(w * c)), std::tuple<>()); }, y,
            Array{0.3, 0.5, -0.2})
            .first;
    return total * y;
  };
  expect_gradient(pulled, Array(tn::Scalar(2.0)));
  expect_lanes(pulled, starts);
  expect_lanes(tn::grad(pulled), starts);
  expect_gradient([&](const Array& xs) { return tn::sum(tn::vmap(pulled)(xs)); }, starts);
}
// The same in a loop whose lanes end apart: lanes that have ended keep the sums they have.
TEST(Lanes, PullbacksInWhileLoops) {
  const auto pulled = [](const Array& x) {
    const auto [y, pull] = tn::vjp(newton_root, x);
    return tn::while_loop([&](const Array& c) { return c < 8.0; },
                          [&](const Array& c) { return c + std::get<0>(pull(c + 1.0)) + 0.5; }, y) *
           y;
  };
  expect_gradient(pulled, Array(tn::Scalar(2.0)));
  expect_lanes(pulled, starts);
  expect_lanes(tn::grad(pulled), starts);
  expect_gradient([&](const Array& xs) { return tn::sum(tn::vmap(pulled)(xs)); }, starts);
}

// Loops in loops in branches: lists of lists, chosen among lane by lane.
TEST(Lanes, ListsOfListsInBranches) {
  const auto nested = [](const Array& x) {
    return tn::cond(
        x > 1.0,
        [](const Array& v) {
          return tn::while_loop([](const Array& s) { return s < 9.0; },
                                [](const Array& s) { return newton_root(s) + s * 0.7 + 0.4; }, v);
        },
        [](const Array& v) {
          return tn::scan([](const Array& c, const Array& w) { return std::pair(grown(c * w), c); }, v,
                          Array{0.5, 0.02, 0.3})
              .first;
        },
        x);
  };
  for (double x : {0.3, 2.0, 12.0}) expect_gradient(nested, Array(tn::Scalar(x)), 1e-5);
  expect_lanes(tn::grad(nested), starts);
  expect_gradient([&](const Array& xs) { return tn::sum(tn::vmap(nested)(xs)); }, starts, 1e-5);
  expect_gradient([&](const Array& xs) { return tn::sum(tn::sin(tn::vmap(tn::grad(nested))(xs))); }, starts, 1e-4);
}

// Where the branch with the loop is not taken by a whole outer lane, its list is empty, and another loop in step is
// not.
TEST(Lanes, EmptyListsBesideOthers) {
  const auto f = [](const Array& x, const Array& go) {
    const auto [y, pull] = tn::vjp([](const Array& v) { return newton_root(v * v + 1.0); }, x);
    const auto slope = [&](const Array& ct) { return std::get<0>(pull(ct)); };
    return tn::cond(
               go > 0.0, [&](const Array& ct) { return slope(ct * x); }, [](const Array& ct) { return ct * 3.0; }, y) +
           slope(y);
  };
  for (double go : {-1.0, 1.0}) {
    const auto g = [&](const Array& x) { return f(x, Array(tn::Scalar(go))); };
    expect_gradient(g, Array(tn::Scalar(0.7)));
    const auto batch = [&](const Array& xs) { return tn::sum(tn::vmap(g)(xs)); };
    expect_gradient(batch, starts);
    const Array rows = tn::jacrev([&](const Array& xs) { return tn::vmap(g)(xs); })(starts);
    const std::vector<double> got = numbers(rows), want = numbers(tn::grad(batch)(starts));
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(got[5 * i + k], i == k ? want[i] : 0, 1e-9);
  }
}

// Thousands of lanes: blocks of them go on until their own have ended, on all cores. Against lanes one by one.
TEST(Lanes, BlocksOfLanesEndApart) {
  const std::int64_t most = 60;
  // Newton's method for a root, in three loops: alone, beside a vector for each lane, and with a loop in the loop.
  const auto is_far = [](const Array& x, const Array& a) { return tn::abs(x * x - a) > 1e-9 * a; };
  const auto step = [](const Array& x, const Array& a) { return 0.5 * (x + a / x); };
  const Function alone = [&](const Array& a) {
    using State = std::pair<Array, Array>;
    const auto [x, n] =
        tn::while_loop([&](State s) { return is_far(s.first, a) & (s.second < most); },
                       [&](State s) { return State(step(s.first, a), s.second + 1); }, State(a, Array(0)));
    return x + 0.001 * tn::convert(n, tn::DType::f64);
  };
  const Function with_vectors = [&](const Array& a) {
    using State = std::pair<Array, Array>;
    const auto [x, v] = tn::while_loop(
        [&](State s) { return is_far(s.first, a); },
        [&](State s) {
          return State(step(s.first, a), 0.5 * tn::sin(s.second + 0.001 * s.first) + tn::sum(s.second) * 0.05);
        },
        State(a, tn::arange(5, tn::DType::f64)));
    return x + tn::sum(v);
  };
  const Function nested = [&](const Array& a) {
    return tn::while_loop([&](const Array& x) { return x < 3.0; },
                          [&](const Array& x) {
                            return 1.0 + tn::while_loop([&](const Array& y) { return is_far(y, x); },
                                                        [&](const Array& y) { return step(y, x); }, x) *
                                             1.5;
                          },
                          a);
  };
  for (const std::int64_t lanes : {1, 63, 64, 65, 5003}) {
    const Array xs = 0.01 + 1000.0 * tn::square(tn::sin(tn::arange(lanes, tn::DType::f64)));
    for (const auto& [name, f] : {std::pair("alone", alone), {"with vectors", with_vectors}, {"nested", nested}}) {
      SCOPED_TRACE(name);
      const Array got = tn::jit(tn::vmap(f))(xs), any = tn::jit(tn::vmap(f), {.sizes = tn::Sizes::symbolic})(xs);
      const auto one = tn::jit(f);
      std::vector<double> want;
      for (std::int64_t i = 0; i < lanes; i += lanes > 100 ? 37 : 1) want.push_back(one(xs(i)).item<double>());
      const std::vector<double> g = numbers(got), h = numbers(any);
      for (std::size_t i = 0; i < want.size(); ++i) {
        const std::size_t at = i * (lanes > 100 ? 37 : 1);
        EXPECT_NEAR(g[at], want[i], 1e-9 * (1 + std::abs(want[i]))) << lanes << " lanes, " << at;
        EXPECT_NEAR(h[at], want[i], 1e-9 * (1 + std::abs(want[i]))) << lanes << " lanes of any number, " << at;
      }
    }
  }
  const Array xs = 0.01 + 1000.0 * tn::square(tn::sin(tn::arange(5003, tn::DType::f64)));
  EXPECT_TRUE(tn::explain(tn::vmap(alone))(xs).find("blocks of rows, divided among the threads") != std::string::npos);
}

}  // namespace
