// Programs whose sizes their data decide, in stages: what loops before and behind give, beside the oracle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"

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
    tn::ReferenceExecutor reference;
    tn::Executor* native = tn::install_executor(&reference);
    const Array want = chosen(x), want_slope = slope(x),
                want_of_two = slope(x) * chosen(x * 0.5) + chosen(x) * 0.5 * slope(x * 0.5);
    tn::install_executor(native);
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

}  // namespace
