// Batches of loops and branches where lanes go different ways: those that have ended, or take another branch, cannot
// run on, do not change, and cost nothing for each element of what they pass on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <type_traits>

#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"

namespace tn = tenon;
using testing::HasSubstr;
using testing::Not;
using tn::Array;

namespace {

Array integers(std::vector<std::int64_t> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return tn::array<std::int64_t>(values, {n});
}
Array ramp(std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(0.1 * static_cast<double>((5 * i + 2) % 13 - 6));
  return tn::array<double>(v, shape);
}

// f of lanes at once, eagerly and compiled, against one lane after another.
template <class... Args>
void expect_lanes(const std::type_identity_t<std::function<Array(Args...)>>& f, const Args&... args) {
  const Array batched = tn::vmap(f)(args...), compiled = tn::jit(tn::vmap(f))(args...);
  for (std::int64_t l = 0; l < batched.size(0); ++l) {
    const Array want = f(args(l)...);
    EXPECT_TRUE(tn::allclose(batched(l), want, 1e-12)) << "lane " << l << ": " << batched(l) << " for " << want;
    EXPECT_TRUE(tn::allclose(compiled(l), want, 1e-12)) << "lane " << l << ", compiled";
  }
}
// The gradient in the second argument too.
void expect_lanes_and_gradients(const std::function<Array(Array, Array)>& f, const Array& n, const Array& x) {
  expect_lanes(f, n, x);
  expect_lanes(
      [&](Array n, Array x) { return tn::grad<1>([&](Array n, Array x) { return tn::sum(tn::sin(f(n, x))); })(n, x); },
      n, x);
}

// Down to zero: 2^64 steps from below.
Array to_zero(Array x) {
  return tn::while_loop([](Array c) { return c != 0; }, [](Array c) { return c - 1; }, x);
}

TEST(Guard, BranchesThatLanesDoNotTakeDoNotRunOn) {
  const auto f = [](Array x) {
    return tn::cond(x > 0, [](Array v) { return to_zero(v); }, [](Array v) { return v * 2; }, x);
  };
  expect_lanes(f, integers({3, -5, 0, 7}));
  // As deep as one likes.
  const auto deep = [&](Array x) {
    return tn::scan([&](Array c, Array) { return std::pair(c + tn::checkpoint(f)(x), c); }, x, tn::arange(3)).first;
  };
  expect_lanes(deep, integers({3, -5, 0, 7}));
  const auto called = tn::jit(f);
  expect_lanes(
      [&](Array x) { return tn::cond(x > 1, [&](Array v) { return called(v - 1); }, [](Array v) { return v; }, x); },
      integers({3, -5, 0, 1}));
}

TEST(Guard, LanesThatHaveEndedDoNotRunOn) {
  // The inner loop ends only while the outer one has steps to do.
  const auto f = [](Array x) {
    return tn::while_loop([](Array c) { return c > 0; }, [](Array c) { return to_zero(c) - 4; }, x);
  };
  expect_lanes(f, integers({3, -5, 0, 7}));
}

// Solvers that never end where there is no solution, in the branch that lanes without one do not take.
void expect_solved_in_branches(const std::function<Array(Array)>& solve) {
  const auto f = [&](Array x) {
    return tn::cond(x > 0.5, [&](Array v) { return solve(v) * v; }, [](Array v) { return v * 2.0; }, x);
  };
  const Array x{4.0, -1.0, 0.25, 9.0};
  expect_lanes(f, x);
  expect_lanes(tn::grad(f), x);
  expect_lanes(tn::grad(tn::grad(f)), x);
  const Array batched = tn::grad([&](Array x) { return tn::sum(tn::vmap(f)(x)); })(x);
  EXPECT_TRUE(tn::allclose(batched, tn::vmap(tn::grad(f))(x), 1e-12));
}
// Newton's method, which no negative number ends.
Array root_of(Array a) {
  return tn::while_loop([&](Array x) { return !(tn::abs(x * x - a) <= 1e-12); },
                        [&](Array x) { return 0.5 * (x + a / x); }, tn::ones_like(a));
}
TEST(Guard, CustomDerivativesDoNotRunOn) {
  expect_solved_in_branches(
      tn::custom_jvp(root_of, [](Array a, Array da) { return std::pair(root_of(a), da * 0.5 / root_of(a)); }));
  expect_solved_in_branches(tn::custom_vjp(
      root_of, [](Array a) { return std::pair(root_of(a), a); },
      [](Array a, Array ct) { return ct * 0.5 / root_of(a); }));
  const auto implicit = [](Array a) {
    return tn::custom_root([&](Array x) { return x * x - a; }, tn::ones_like(a),
                           [&](auto, Array) { return root_of(tn::stop_gradient(a)); },
                           [](auto g, Array y) { return y / g(tn::ones_like(y)); });
  };
  expect_solved_in_branches(implicit);
  // x + (1 - a·x)/a₀ with a₀ > a/2 ends; of negative a it runs off.
  const auto richardson = [](auto product, Array b) {
    return tn::while_loop([=](Array x) { return !(tn::abs(b - product(x)) <= 1e-13); },
                          [=](Array x) { return x + (b - product(x)) * 0.1; }, tn::zeros_like(b));
  };
  expect_solved_in_branches([&](Array a) {
    return tn::custom_linear_solve([=](Array x) { return a * x; }, tn::ones_like(a), richardson, {.symmetric = true});
  });
}

struct State {
  Array i, ys;
};
// n updates of a buffer, each of one element.
template <class Update>
auto updates(const Update& update) {
  return [update](Array n, Array x) {
    return tn::while_loop([&](const State& s) { return s.i < n; },
                          [&](const State& s) { return State{s.i + 1, update(s.i, s.ys)}; },
                          State{Array(tn::Scalar(std::int64_t(0))), x})
        .ys;
  };
}

// --- derivatives that are infinite where a lane does not go ---
// Gradients of the sum over lanes against the sum of the lanes' gradients, in both arguments; x has lanes, w has not.
void expect_gradients(const std::function<Array(Array, Array)>& f, const Array& x, const Array& w, const char* what) {
  const auto total = [&](Array x, Array w) { return tn::sum(tn::vmap(f, {.in_axes = {0, tn::none}})(x, w)); };
  const auto alone = [&](Array x, Array w) {
    Array sum(0.0);
    for (std::int64_t l = 0; l < x.size(0); ++l) sum = sum + f(x(l), w);
    return sum;
  };
  const auto both = [](const auto& g) { return tn::grad<0, 1>(g); };
  const auto [dx, dw] = both(total)(x, w);
  const auto [jx, jw] = tn::jit(both(total))(x, w);
  const auto [wx, ww] = both(alone)(x, w);
  for (const Array& got : {dx, jx}) EXPECT_TRUE(tn::allclose(got, wx, 1e-12)) << what << ": " << got << " for " << wx;
  for (const Array& got : {dw, jw}) EXPECT_TRUE(tn::allclose(got, ww, 1e-12)) << what << ": " << got << " for " << ww;
  const auto slopes = [&](const auto& g) {
    return tn::jacfwd([&w, g](Array x) { return tn::sum(tn::square(tn::grad<0>(g)(x, w))); });
  };
  EXPECT_TRUE(tn::allclose(slopes(total)(x), slopes(alone)(x), 1e-10)) << what << ", second";
}

TEST(Guard, InfiniteDerivativesOfDeadBranchesDoNotCount) {
  const Array x = {0.0, 2.0, 0.0, 0.5}, w = ramp({3}) + 2.0;
  const auto where_positive = [](auto f) {
    return
        [f](Array x, Array w) { return tn::cond(x > 1e-3, f, [](Array x, Array w) { return x * tn::sum(w); }, x, w); };
  };
  expect_gradients(where_positive([](Array x, Array w) { return tn::sqrt(x) * tn::sum(w); }), x, w, "of a lane's");
  expect_gradients(where_positive([](Array x, Array w) { return tn::sum(tn::sqrt(x * w)); }), x, w, "of both");
  expect_gradients(where_positive([](Array x, Array w) { return tn::sum(tn::log(x) * w) / x; }), x, w, "quotient");
  expect_gradients(
      where_positive([](Array x, Array w) {
        return tn::scan([&](Array c, Array v) { return std::pair(c + tn::sqrt(x * v), c); }, Array(0.0), w).first;
      }),
      x, w, "in a scan");
  expect_gradients(where_positive([](Array x, Array w) {
                     return tn::jit([](Array x, Array w) { return tn::sum(tn::sqrt(x) * w); })(x, w);
                   }),
                   x, w, "in a call");
  expect_gradients(where_positive([](Array x, Array w) {
                     const Array v = tn::broadcast_to(x, {2}).at(0).set(w(0));
                     return tn::sum(tn::sqrt(v)) + tn::sqrt(v(1));
                   }),
                   x, w, "of an update");
  expect_gradients(where_positive([&](Array x, Array w) {
                     return tn::cond(
                         w(0) > 0.0, [](Array x, Array w) { return tn::sqrt(x) * w(1); },
                         [](Array x, Array) { return x; }, x, w);
                   }),
                   x, w, "in a branch of a branch");
  // Operands of one lane are stopped before the inner branch or call; tables inside.
  expect_gradients(where_positive([](Array x, Array w) {
                     return tn::cond(
                                x > 1.0, [](Array x) { return tn::sqrt(x) * x; }, [](Array x) { return tn::log(x); },
                                x) *
                            tn::sum(w);
                   }),
                   x, w, "in a branch of a branch, of a lane's");
  expect_gradients(
      where_positive([](Array x, Array w) {
        const auto f = tn::jit([](Array x) { return tn::sqrt(x) + 1.0 / x; });
        return tn::cond(x > 1.0, [&](Array x) { return f(x) * x; }, [&](Array x) { return tn::sqrt(f(x)); }, x) * w(1);
      }),
      x, w, "in a call in a branch of a branch");
  expect_gradients(where_positive([](Array x, Array w) {
                     const Array v = tn::sqrt(x * w);
                     return tn::cond(
                         x > 1.0, [](Array v, Array x) { return tn::log(v(2)) * x; },
                         [](Array v, Array x) { return tn::sqrt(v(0) * x); }, v, x);
                   }),
                   x, w, "elements read in a branch of a branch");
}

// Branches in branches, under vmap: programs grow with the depth, not with its square.
TEST(Guard, NestedBranchesGrowLinearly) {
  const auto eqns_of = [](int depth) {
    const std::function<Array(Array, int)> deep = [&](const Array& x, int level) {
      if (level == 0) return tn::sin(x);
      return tn::cond(
          x > 0.1 * level, [&, level](Array x) { return deep(x, level - 1) + 1.0; },
          [level](Array x) { return x * level; }, x);
    };
    const auto f = tn::vmap([&](Array x) { return deep(x, depth); });
    const auto total = [&](Array x) { return tn::sum(tn::square(f(x))); };
    const auto eqns = [](const tn::ProgramRef& program) { return tn::inline_calls(program)->eqns().size(); };
    return std::pair(eqns(tn::trace(f)(ramp({5}))), eqns(tn::trace(tn::grad(total))(ramp({5}))));
  };
  const auto [few, few_of_gradient] = eqns_of(8);
  const auto [many, many_of_gradient] = eqns_of(32);
  EXPECT_LT(many, 5 * few);
  EXPECT_LT(many_of_gradient, 5 * few_of_gradient);
}

TEST(Guard, InfiniteDerivativesOfLanesThatHaveEndedDoNotCount) {
  // Ends at 0, where a step would divide by it.
  const auto f = [](Array x, Array w) {
    return tn::while_loop([](Array c) { return c > 1e-3; },
                          [&](Array c) { return c - tn::sqrt(c) * tn::sum(w) / tn::sum(w) * tn::sqrt(c); }, x);
  };
  expect_gradients(f, Array{0.0, 2.0, 0.0, 0.5}, ramp({3}) + 2.0, "while");
}

TEST(Guard, UpdatesOfEveryKind) {
  const Array n = integers({4, 0, 7, 2}), x = ramp({4, 5});
  const auto value = [](Array i, Array ys) { return tn::sin(ys(i % 5)) + 0.5; };
  expect_lanes_and_gradients(updates([&](Array i, Array ys) { return ys.at(i % 5).set(value(i, ys)); }), n, x);
  expect_lanes_and_gradients(updates([&](Array i, Array ys) { return ys.at(i % 5).add(value(i, ys)); }), n, x);
  expect_lanes_and_gradients(updates([&](Array i, Array ys) { return ys.at(i % 5).max(value(i, ys)); }), n, x);
  expect_lanes(updates([&](Array i, Array ys) { return ys.at(i % 5).mul(value(i, ys)); }), n, x);
  expect_lanes(updates([&](Array i, Array ys) { return ys.at(i % 5).min(value(i, ys)); }), n, x);
  // Rows, twice a step, beyond the end, and the update of an update.
  const Array rows = ramp({4, 3, 2});
  expect_lanes_and_gradients(
      updates([](Array i, Array ys) { return ys.at(i % 4).set(tn::cos(ys(0))).at(1).add(ys(i % 3) * 0.3); }), n, rows);
  expect_lanes(updates([](Array i, Array ys) {
                 return tn::dynamic_update_slice(ys, tn::sin(tn::dynamic_slice(ys, tn::Arrays{i}, {2})),
                                                 tn::Arrays{i + 1});
               }),
               n, x);
}

TEST(Guard, UpdatesInsideOfBranchesLoopsAndCalls) {
  const Array n = integers({4, 0, 6, 2}), x = ramp({4, 5});
  const auto set = [](Array i, Array ys) { return ys.at(i % 5).set(tn::sin(ys(i % 5)) + 0.5); };
  const auto pass = [](Array, Array ys) { return ys; };
  expect_lanes_and_gradients(updates([&](Array i, Array ys) { return tn::cond(tn::sum(ys) > 0.0, set, pass, i, ys); }),
                             n, x);
  expect_lanes_and_gradients(
      updates([&](Array i, Array ys) {
        return tn::fori_loop(0, 3, [&](Array k, Array y) { return set(tn::convert(k, tn::DType::i64) + i, y); }, ys);
      }),
      n, x);
  expect_lanes_and_gradients(updates([&](Array i, Array ys) { return updates(set)(i % 3, ys); }), n, x);
  expect_lanes_and_gradients(updates([&](Array i, Array ys) { return tn::checkpoint(set)(i, ys); }), n, x);
  const auto called = tn::jit(set);
  expect_lanes_and_gradients(updates([&](Array i, Array ys) { return called(i, ys); }), n, x);
  // Two buffers that change places are no updates of themselves.
  const auto swapped = [](Array n, Array x) {
    return tn::while_loop([&](const auto& s) { return std::get<0>(s) < n; },
                          [](const auto& s) {
                            const auto& [i, a, b] = s;
                            return std::tuple<Array, Array, Array>(i + 1, b.at(0).set(a(1) * 0.5), a);
                          },
                          std::tuple<Array, Array, Array>(Array(tn::Scalar(std::int64_t(0))), x, x * 2.0));
  };
  expect_lanes_and_gradients([&](Array n, Array x) { return std::get<1>(swapped(n, x)); }, n, x);
}

TEST(Guard, BranchesThatUpdate) {
  const auto f = [](Array i, Array ys) {
    return tn::switch_case(
        i,
        std::tuple([](Array i, Array y) { return y.at(i).set(y(1) + 1.0); }, [](Array, Array y) { return y; },
                   [](Array i, Array y) { return y.at(i).add(tn::sum(y)).at(0).mul(2.0); }),
        i, ys);
  };
  expect_lanes_and_gradients(f, integers({2, 0, 1, 5}), ramp({4, 5}));
  // One operand, two results: each keeps its own.
  const auto both = [](Array i, Array y) {
    const auto [a, b] = tn::cond(
        i > 0, [](Array y) { return std::pair(y.at(0).set(1.0), y); },
        [](Array y) { return std::pair(y, y.at(1).set(2.0)); }, y);
    return a * 3.0 + b;
  };
  expect_lanes_and_gradients(both, integers({1, 0, 2, -1}), ramp({4, 5}));
}

// A zero that is left alone keeps its sign.
TEST(Guard, ChangesNoBits) {
  const auto f = updates([](Array i, Array ys) { return ys.at(i).add(1.0); });
  const Array ys = tn::jit(tn::vmap(f))(integers({0, 2}), tn::full({2, 2}, -0.0));
  EXPECT_TRUE(std::signbit(ys(0, 0).item<double>()));
  EXPECT_EQ(ys(1, 1).item<double>(), 1);
}

// No step touches more of the buffers than it updates.
TEST(Guard, StepsCostTheElementsThatTheyUpdate) {
  const auto f = tn::vmap(updates([](Array i, Array ys) { return ys.at(i).set(ys(i) * 0.5 + 1.0); }));
  const Array n = integers({3, 1, 2, 4}), x = tn::zeros({4, 1000}, tn::DType::f64);
  const std::string told = tn::explain(tn::jit(f))(n, x);
  const std::size_t loop = told.find("loop while");
  const std::string steps = told.substr(loop, told.find("stored instead") - loop);
  EXPECT_THAT(steps, testing::AllOf(HasSubstr("select"), Not(HasSubstr("1000")), Not(HasSubstr("copy of")))) << told;
}

}  // namespace
