// Functions that are flat wherever they have a derivative have no tangent: an infinite one makes no NaN of it.
#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

namespace tn = tenon;

TEST(FlatFunctions, HaveNoTangentWhateverGoesIn) {
  const Array x = {0.5f, -1.5f}, infinite = tn::full({2}, std::numeric_limits<float>::infinity());
  const auto slopes = [&](auto f) {
    for (const bool compiled : {false, true}) {
      const auto slope = [&](Array x, Array d) { return tn::jvp(f, std::tuple(x), std::tuple(d)).second; };
      EXPECT_TRUE(tn::array_equal(compiled ? tn::jit(slope)(x, infinite) : slope(x, infinite), tn::zeros({2})));
    }
    EXPECT_TRUE(tn::array_equal(tn::grad([&](Array x) { return tn::sum(f(x)); })(x), tn::zeros({2})));
    const auto in_loop = [&](Array x) { return tn::sum(tn::fori_loop(0, 3, [&](Array, Array c) { return f(c); }, x)); };
    EXPECT_TRUE(tn::array_equal(tn::jit(tn::grad(in_loop))(x), tn::zeros({2})));
  };
  slopes([](Array x) { return tn::floor(x); });
  slopes([](Array x) { return tn::ceil(x); });
  slopes([](Array x) { return tn::round(x); });
  slopes([](Array x) { return tn::sign(x); });
}

}  // namespace
}  // namespace tenon
