// Programs whose sizes their data decide, in stages: what loops before and behind give, beside the oracle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/by_oracle.h"

namespace tn = tenon;
using testing::HasSubstr;
using testing::Not;
using tn::Array;

namespace {

// A loop, the elements of its results that are large, and a loop along those.
Array chosen(const Array& x) {
  const auto [end, ys] = tn::scan(
      [](Array c, Array x) {
        const Array next = tn::sin(c * 1.3 + x);
        return std::pair(next, next);
      },
      Array(0.4), x);
  const Array large = tn::compress(ys, tn::abs(ys) > 0.3);
  const auto [sum, zs] = tn::scan([](Array c, Array x) { return std::pair(c * 0.5 + x * x, c); }, end, large);
  return sum + tn::sum(zs * large);
}

Array inputs(double scale) { return tn::sin(tn::arange(40, tn::DType::f64) * scale); }

TEST(Stages, GiveWhatTheOracleGives) {
  const auto slope = tn::grad(chosen);
  const auto value = tn::jit(chosen);
  const auto compiled = tn::jit(slope);
  const auto of_two = tn::jit(tn::grad([&](Array x) { return chosen(x) * chosen(x * 0.5); }));
  for (const double scale : {0.7, 1.9, 0.0}) {
    const Array x = inputs(scale);
    Array want, want_slope, want_of_two;
    {
      const tn::ByOracle oracle;
      want = chosen(x), want_slope = slope(x);
      want_of_two = slope(x) * chosen(x * 0.5) + chosen(x) * 0.5 * slope(x * 0.5);
    }
    const auto close = [](const Array& a, const Array& b) {
      return tn::all(tn::abs(a - b) <= 1e-12 * (1.0 + tn::abs(b))).item<bool>();
    };
    EXPECT_TRUE(close(value(x), want)) << value(x) << want;
    EXPECT_TRUE(close(compiled(x), want_slope)) << compiled(x) << want_slope;
    EXPECT_TRUE(close(of_two(x), want_of_two)) << of_two(x) << want_of_two;
  }
  EXPECT_THAT(tn::explain(tn::jit(chosen))(inputs(0.7)), HasSubstr("runs in stages"));
  const auto plain = [](Array x) { return tn::compress(x, x > 0.3); };
  EXPECT_THAT(tn::explain(tn::jit(plain))(inputs(0.7)), Not(HasSubstr("runs in stages"))) << "no loop, nothing gained";
}

// Sizes are decided again behind what those before decided, and arrays of them have no operand that would tell so.
Array decided_twice(const Array& x) {
  const Array some = tn::compress(x, x > 0.3);
  const Array level = tn::fori_loop(0, 5, [](Array, Array level) { return tn::sin(level) * 0.9; }, tn::sum(some));
  const Array more = tn::compress(x, x > level);
  const Array places = tn::iota(tn::DType::f64, more.shape(), 0) + tn::sum(tn::iota(tn::DType::f64, some.shape(), 0));
  return tn::scan([](Array c, Array x) { return std::pair(c * 0.5 + x, c); }, level, more * places).first;
}

TEST(Stages, FollowEachOther) {
  const auto slope = tn::grad(decided_twice);
  const auto value = tn::jit(decided_twice);
  const auto compiled = tn::jit(slope);
  for (const double scale : {0.7, 1.9, 0.0}) {
    const Array x = inputs(scale);
    Array want, want_slope;
    {
      const tn::ByOracle oracle;
      want = decided_twice(x), want_slope = slope(x);
    }
    EXPECT_TRUE(tn::allclose(value(x), want, 1e-12, 1e-12)) << value(x) << want;
    EXPECT_TRUE(tn::allclose(compiled(x), want_slope, 1e-12, 1e-12)) << compiled(x) << want_slope;
  }
}

// What decides no size any more but has no native form for any stands between loops as well: rows that go back to where
// a mask has chosen them from.
TEST(Stages, AreCutAtWhatHasNoNativeForm) {
  const auto back = [](const Array& rows, const Array& mask) {
    const Array placed = tn::bind1(*tn::find_op("uncompress"), {}, {rows, mask});
    return tn::scan([](Array c, Array x) { return std::pair(c * 0.5 + x, c); }, Array(0.4), placed).first;
  };
  const Array rows{2.0, 3.0}, mask{true, false, true};
  EXPECT_THAT(tn::explain(tn::jit(back))(rows, mask), HasSubstr("runs in stages"));
  EXPECT_EQ(tn::jit(back)(rows, mask).item<double>(), (0.4 * 0.5 + 2) * 0.25 + 3);
}

}  // namespace
