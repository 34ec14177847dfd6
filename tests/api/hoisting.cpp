// hoist_reductions(f): f without stacks that it only reduces, under every transformation.
#include <gtest/gtest.h>

#include "tenon/kernel/function.h"
#include "tenon/ops/control/region.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"

namespace {

namespace tn = tenon;
using tn::Array;

const Array c{0.1, 0.2, 0.3}, xs = tn::reshape(tn::sin(tn::arange(60, tn::DType::f64)), {20, 3});

auto loss() {
  return [](const Array& c, const Array& xs) {
    const auto step = [](const Array& c, const Array& x) {
      const Array next = tn::sin(c + x);
      return std::pair(next, next);
    };
    const Array ys = tn::scan(step, c, xs).second;
    return tn::mean(tn::square(ys)) + tn::sum(tn::amax(ys, 0));
  };
}

bool close(const Array& x, const Array& y) {
  return x.shape() == y.shape() && tn::all(tn::abs(x - y) <= 1e-12 * (1.0 + tn::abs(y))).item<bool>();
}

// The most elements that a loop of a Program without calls gives for one result.
double largest_made(const tn::ProgramRef& program) {
  double most = 0;
  for (const tn::Eqn& eqn : program->eqns())
    if (eqn.op == &tn::loop_op())
      for (const tn::Var v : eqn.out) most = std::max(most, tn::kernel::estimate(program->type(v).shape.elements()));
  return most;
}

TEST(HoistReductions, MakesNoStack) {
  const auto traced = [](auto f) { return tn::inline_calls(tn::trace(f)(c, xs)); };
  EXPECT_EQ(largest_made(traced(loss())), 60);
  EXPECT_EQ(largest_made(traced(tn::hoist_reductions(loss()))), 3);
}

TEST(HoistReductions, GivesTheSameUnderTransformations) {
  const auto f = loss();
  const auto hoisted = tn::hoist_reductions(loss());
  EXPECT_TRUE(close(hoisted(c, xs), f(c, xs)));
  EXPECT_TRUE(close(tn::jit(hoisted)(c, xs), f(c, xs)));
  EXPECT_TRUE(close(tn::grad<0>(hoisted)(c, xs), tn::grad<0>(f)(c, xs)));
  EXPECT_TRUE(close(tn::grad<1>(hoisted)(c, xs), tn::grad<1>(f)(c, xs)));
  EXPECT_TRUE(close(tn::jit(tn::grad<1>(hoisted))(c, xs), tn::grad<1>(f)(c, xs)));
  const Array many = tn::stack({xs, tn::cos(xs), xs * 2.0}, 0);
  const auto lanes = [](auto g) { return tn::vmap([g](const Array& x) { return g(c, x); }); };
  EXPECT_TRUE(close(lanes(hoisted)(many), lanes(f)(many)));
  EXPECT_TRUE(close(lanes(tn::grad<1>(hoisted))(many), lanes(tn::grad<1>(f))(many)));
  const auto once = [](auto g) { return [g](const Array& x) { return g(c, x); }; };
  EXPECT_TRUE(close(tn::jvp(once(hoisted), std::tuple<Array>(xs), std::tuple<Array>(tn::cos(xs))).second,
                    tn::jvp(once(f), std::tuple<Array>(xs), std::tuple<Array>(tn::cos(xs))).second));
  EXPECT_TRUE(close(tn::hvp(once(hoisted), xs, tn::cos(xs)), tn::hvp(once(f), xs, tn::cos(xs))));
  EXPECT_TRUE(close(tn::hoist_reductions(tn::grad<1>(f))(c, xs), tn::grad<1>(f)(c, xs)));
}

TEST(HoistReductions, ExplainTellsWhatMoved) {
  for (const std::string& told :
       {tn::explain(tn::hoist_reductions(loss()))(c, xs), tn::explain(tn::grad(tn::hoist_reductions(loss())))(c, xs)}) {
    EXPECT_NE(told.find("reductions taken into loops:\n"), std::string::npos) << told;
    EXPECT_NE(told.find("  reduce_max f64[3] at "), std::string::npos) << told;
  }
}

TEST(HoistReductions, TakesWhatTheFunctionCaptures) {
  const Array scale{2.0, 3.0, 4.0};
  const auto outer = [&](const Array& c) {
    const Array twice = c * scale;
    return tn::hoist_reductions([&](const Array& x) { return loss()(twice, x); })(xs);
  };
  EXPECT_TRUE(close(tn::jit(tn::grad(outer))(c), tn::grad([&](const Array& c) { return loss()(c * scale, xs); })(c)));
}

}  // namespace
