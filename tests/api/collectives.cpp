// Collectives in C++: along the axis that a vmap names, in derivatives and loops.
#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

std::vector<double> numbers(const Array& x) {
  const Buffer b = x.to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}

const Array xs = {1.0, 2.0, 3.0, 4.0};

TEST(Collectives, TellLanesOfEachOther) {
  const auto shares = vmap([](Array x) { return x / psum(x, "i"); }, {.axis_name = "i"});
  EXPECT_EQ(numbers(shares(xs)), (std::vector{0.1, 0.2, 0.3, 0.4}));
  const auto total = vmap([](Array x) { return psum(x, "i"); }, {.out_axes = none, .axis_name = "i"});
  EXPECT_EQ(numbers(total(xs)), std::vector{10.0});
  const auto spread =
      vmap([](Array x) { return pmax(x, "i") - pmin(x, "i") + (x - pmean(x, "i")); }, {.axis_name = "i"});
  EXPECT_EQ(numbers(spread(xs)), (std::vector{1.5, 2.5, 3.5, 4.5}));
  const auto number = vmap([](Array x) { return x * 0.0 + axis_index("i"); }, {.axis_name = "i"});
  EXPECT_EQ(numbers(number(xs)), (std::vector{0.0, 1.0, 2.0, 3.0}));
}

// Derivatives within a lane sum cotangents over the lanes; those from outside are those of what all lanes compute.
TEST(Collectives, HaveDerivatives) {
  const auto f = [](Array x) { return psum(x * x, "i") * x; };
  EXPECT_EQ(numbers(vmap(grad(f), {.axis_name = "i"})(xs)), (std::vector{50.0, 70.0, 90.0, 110.0}));
  const auto outside = [&](Array x) { return sum(vmap(f, {.axis_name = "i"})(x)); };
  EXPECT_EQ(numbers(grad(outside)(xs)), (std::vector{50.0, 70.0, 90.0, 110.0}));
}

TEST(Collectives, ReachIntoLoops) {
  const auto f = [](Array x) { return fori_loop(0, 2, [](Array, Array c) { return c + psum(c, "i"); }, x); };
  EXPECT_EQ(numbers(vmap(f, {.axis_name = "i"})(xs)), (std::vector{61.0, 62.0, 63.0, 64.0}));
  EXPECT_EQ(numbers(jit(vmap(f, {.axis_name = "i"}))(xs)), (std::vector{61.0, 62.0, 63.0, 64.0}));
}

TEST(Collectives, NamesAreThoseOfOpenAxes) {
  try {
    psum(xs, "k");
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.asked(), "psum: no axis has the name 'k'.");
  }
}

}  // namespace
}  // namespace tenon
