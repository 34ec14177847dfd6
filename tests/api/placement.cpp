// noinline and inline_: which calls are units whatever their price, through transformations, and what explain says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/base/settings.h"
#include "tenon/ops/control/region.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tn::Array;

namespace {

Array placed_short(const Array& x) { return tn::sin(x) * x; }
Array placed_long(Array x) {
  for (int i = 0; i < 30; ++i) x = tn::sin(x) * 0.5 + x;
  return x;
}
Array quarters() { return tn::arange(5, tn::DType::f64) * 0.25; }

bool has_a_unit(const tn::ProgramRef& p) {
  return tn::find_eqn(*tn::share_calls(p), [](const tn::Eqn& eqn) { return eqn.op == &tn::call_op(); }) != nullptr;
}

// Of whatever is made of a short function: a call of a unit, and the values of the function itself.
void stays_a_unit(const auto& transformed) {
  const Array x = quarters();
  const auto placed = transformed(tn::noinline(placed_short));
  EXPECT_TRUE(has_a_unit(tn::trace(placed)(x)));
  const Array difference = tn::jit(placed)(x) - tn::jit(transformed(placed_short))(x);
  EXPECT_LT(tn::max(tn::abs(difference)).item<double>(), 1e-12);
}

}  // namespace

TEST(Placement, UnitsStayUnitsThroughTransformations) {
  stays_a_unit([](auto f) { return [=](Array x) { return f(x) + 1.0; }; });
  stays_a_unit([](auto f) { return tn::grad([=](Array x) { return tn::sum(f(x)); }); });
  stays_a_unit([](auto f) { return tn::vmap(f); });
  stays_a_unit([](auto f) { return tn::vmap(tn::grad([=](Array x) { return f(x) * 3.0; })); });
  stays_a_unit([](auto f) { return [=](Array x) { return tn::jvp(f, std::tuple(x), std::tuple(x)).second; }; });
  stays_a_unit(
      [](auto f) { return [=](Array x) { return tn::fori_loop(0, 3, [=](Array, Array y) { return f(y); }, x); }; });
  stays_a_unit([](auto f) { return tn::grad([=](Array x) { return tn::sum(tn::checkpoint(f)(x)); }); });
  stays_a_unit([](auto f) { return [g = tn::jit(f)](Array x) { return g(g(x)); }; });
}

TEST(Placement, OverridesThePrice) {
  const auto often = [](auto f) {
    return [=](Array x) {
      for (int i = 0; i < 20; ++i) x = f(x) + 1.0;
      return x;
    };
  };
  const auto jitted = tn::jit(placed_long);
  const Array x = tn::zeros({10'000}, tn::DType::f64);
  EXPECT_TRUE(has_a_unit(tn::trace(often(jitted))(x)));
  EXPECT_FALSE(has_a_unit(tn::trace(often(tn::inline_(jitted)))(x)));
  EXPECT_EQ(has_a_unit(tn::trace(tn::grad([=](Array x) { return tn::sum(often(tn::inline_(jitted))(x)); }))(x)),
            tn::units_are_small());  // calls in what transformations have made of it stay then, whatever asks
  EXPECT_THAT(tn::explain(often(jitted))(x), AllOf(HasSubstr("called 20 times"), HasSubstr("a unit: large")));
  EXPECT_THAT(tn::explain(often(tn::inline_(jitted)))(x), HasSubstr("inlined: asked for"));
  EXPECT_THAT(tn::explain(often(tn::noinline(placed_short)))(x), HasSubstr("a unit: asked for"));
}

TEST(Placement, SaysWhyACallIsInlined) {
  if (tn::units_are_small()) GTEST_SKIP() << "every function stays one";
  const auto jitted = tn::jit(placed_short);
  const auto large = tn::jit(placed_long);
  EXPECT_THAT(tn::explain([&](Array x) { return large(x); })(quarters()), HasSubstr("inlined: called once"));
  EXPECT_THAT(tn::explain([&](Array x) { return jitted(jitted(x)); })(quarters()), HasSubstr("inlined: too small"));
  const auto of_list = tn::noinline([](const tn::List<Array>& all) { return all.at(0) * 2.0; });
  const auto with_list = [&](const Array& x) {
    tn::List<Array> all;
    all.push(x);
    return of_list(all);
  };
  EXPECT_THAT(tn::explain(with_list)(quarters()), HasSubstr("inlined: asked to be a unit, and it has lists"));
}

TEST(Placement, TextOfProgramsKeepsIt) {
  const tn::ProgramRef p =
      tn::trace([](Array x) { return tn::noinline(placed_short)(x) + tn::inline_(placed_long)(x); })(quarters());
  const std::string text = tn::print(*p);
  EXPECT_THAT(text, AllOf(HasSubstr("call_unit"), HasSubstr("call_inlined")));
  EXPECT_EQ(tn::parse(text)->hash(), p->hash());
}
