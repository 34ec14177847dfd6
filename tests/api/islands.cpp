// Programs whose sizes their data decide, in pieces: what loops before and behind give, beside the oracle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/island.h"

namespace tn = tenon;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using tn::Array;

namespace {

// A loop, the elements of its results that are large, through what has no native form, and a loop along those.
Array chosen(const Array& x) {
  const auto [end, ys] = tn::scan(
      [](Array c, Array x) {
        const Array next = tn::sin(c * 1.3 + x);
        return std::pair(next, next);
      },
      Array(0.4), x);
  const Array large = tn::island(tn::compress(ys, tn::abs(ys) > 0.3));
  const auto [sum, zs] = tn::scan([](Array c, Array x) { return std::pair(c * 0.5 + x * x, c); }, end, large);
  return sum + tn::sum(zs * large);
}

Array inputs(double scale) { return tn::sin(tn::arange(40, tn::DType::f64) * scale); }

TEST(Islands, GiveWhatTheOracleGives) {
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
  EXPECT_THAT(tn::explain(tn::jit(chosen))(inputs(0.7)), HasSubstr("runs in pieces"));
  const auto plain = [](Array x) { return tn::island(tn::compress(x, x > 0.3)); };
  EXPECT_THAT(tn::explain(tn::jit(plain))(inputs(0.7)), Not(HasSubstr("runs in pieces"))) << "no loop, nothing gained";
  EXPECT_THAT(tn::explain(tn::jit(plain))(inputs(0.7)), Not(HasSubstr("native code:")));
}

// Sizes are decided again behind what those before decided, and arrays of them have no operand that would tell so.
Array decided_twice(const Array& x) {
  const Array some = tn::compress(x, x > 0.3);
  const Array level = tn::fori_loop(0, 5, [](Array, Array level) { return tn::sin(level) * 0.9; }, tn::sum(some));
  const Array more = tn::compress(x, x > level);
  const Array places = tn::iota(tn::DType::f64, more.shape(), 0) + tn::sum(tn::iota(tn::DType::f64, some.shape(), 0));
  return tn::scan([](Array c, Array x) { return std::pair(c * 0.5 + x, c); }, level, more * places).first;
}

TEST(Islands, FollowEachOther) {
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

// What has no native form stands between loops: it is given a list's elements, as an array as long as that.
TEST(Islands, AreCutAtWhatHasNoNativeForm) {
  const auto listed = [](const Array& x) {
    const auto [end, kept] = tn::while_loop([](const auto& c) { return c.first < 20.0; },
                                            [](const auto& c) {
                                              auto [last, kept] = c;
                                              kept.push(last);
                                              return std::pair(last * 1.5 + 1.0, kept);
                                            },
                                            std::pair(x, tn::List<Array>()));
    return tn::scan([](Array c, Array x) { return std::pair(c * 0.5 + x, c); }, end * 0.0 + 0.4,
                    tn::island(kept.stack()))
        .first;
  };
  EXPECT_THAT(tn::explain(tn::jit(listed))(Array(2.0)), HasSubstr("runs in pieces"));
  EXPECT_THAT(tn::explain(tn::jit(listed))(Array(2.0)), ContainsRegex("island at .*islands.cpp:[0-9]+: island: "));
  double sum = 0.4;
  for (double c = 2; c < 20; c = c * 1.5 + 1) sum = sum * 0.5 + c;
  EXPECT_DOUBLE_EQ(tn::jit(listed)(Array(2.0)).item<double>(), sum);
}

// Eqns without native form inside of a loop: code for the rest of its body.
Array filtered(const Array& x) {
  const auto step = [](Array c, Array x) {
    const Array a = tn::sin(c * x) + tn::cos(x), b = tn::exp(-a * a);
    const Array large = tn::sum(tn::island(tn::compress(b, b > 0.5)));
    return std::pair(tn::tanh(b * 0.3 + large * 0.01), large);
  };
  const auto [end, ys] = tn::scan(step, tn::zeros({30}, tn::DType::f64), x);
  return tn::sum(end) + tn::sum(ys * ys);
}

TEST(Islands, LieInLoopsAndBranchesToo) {
  const Array x = tn::reshape(tn::sin(tn::arange(600, tn::DType::f64)), {20, 30});
  const auto branched = [](Array x) {
    return tn::fori_loop(
        0, 4,
        [&](Array i, Array c) {
          return tn::cond(i % 2 == 0, [&] { return c * 0.5 + filtered(x); }, [&] { return tn::sin(c) + tn::sum(x); });
        },
        Array(0.1));
  };
  const auto lanes = [](Array x) {
    return tn::sum(tn::vmap([](Array x) { return tn::sum(tn::sort(x)) * 2.0; })(x)) + filtered(x);
  };
  const auto check = [&](auto f) {
    Array want, slope;
    {
      const tn::ByOracle oracle;
      want = f(x), slope = tn::grad(f)(x);
    }
    EXPECT_TRUE(tn::allclose(tn::jit(f)(x), want, 1e-12, 1e-12));
    EXPECT_TRUE(tn::allclose(tn::jit(tn::grad(f))(x), slope, 1e-11, 1e-11));
  };
  check(filtered), check(branched), check(lanes);
  EXPECT_THAT(tn::explain(tn::jit(filtered))(x), ContainsRegex("loop at .*islands.cpp:[0-9]+: island: a test's op"));
}

// Pieces follow in the order of what they do outside.
TEST(Islands, KeepTheOrderOfEffects) {
  std::vector<int> calls;
  const auto call = [&](int which, const Array& x) {
    const auto noted = [&calls, which](std::span<const Array> in) {
      calls.push_back(which);
      return std::vector<Array>{in[0]};
    };
    return tn::host_call(noted, {x.type()}, {{x}}, {.effect = true})[0];
  };
  const auto f = tn::jit([&](Array x) {
    Array a = call(1, tn::sum(x));
    for (int i = 0; i < 10; ++i) a = tn::sin(a) + x(i);
    const Array some = tn::sum(tn::compress(x, x > a));
    Array b = call(2, some);
    for (int i = 0; i < 10; ++i) b = tn::cos(b) + x(i);
    const Array more = tn::sum(tn::compress(x, x < b * 0.1));
    const Array c = call(3, more);
    return c + call(4, tn::sum(x));
  });
  for (int round = 0; round < 3; ++round) {
    calls.clear();
    f(inputs(0.7));
    EXPECT_THAT(calls, testing::ElementsAre(1, 2, 3, 4));
  }
}

TEST(Islands, AreErrorsWhereTheyAreAskedToBe) {
  const auto strictly = [](auto f) { return tn::jit(f, tn::JitOptions{.strict_native = true}); };
  EXPECT_NO_THROW(strictly([](Array x) { return tn::sum(tn::where(x > 0.3, x, 0.0)); })(inputs(0.7)));
  EXPECT_NO_THROW(strictly(decided_twice)(inputs(0.7)));
  try {
    strictly(chosen)(inputs(0.7));
    FAIL() << "no error";
  } catch (const tn::CompileError& e) {
    EXPECT_THAT(e.what(), HasSubstr("strict_native: the function has no native form as a whole:"));
    EXPECT_THAT(e.what(), ContainsRegex("island at .*islands.cpp:[0-9]+: island: a test's op"));
    EXPECT_THAT(e.what(), HasSubstr("Leave strict_native out"));
  }
}

// Programs of any length: as few pieces as depend on each other, in time that grows with the eqns.
TEST(Islands, AreAsFewAsFollowEachOther) {
  const auto wide = [](Array x) {
    Array sum(0.0);
    for (int i = 0; i < 40; ++i) sum = sum + tn::sum(tn::island(tn::compress(x, x > double(i) * 0.02)));
    return sum;
  };
  EXPECT_THAT(tn::explain(tn::jit(wide))(inputs(0.7)),
              HasSubstr("runs in pieces: 2 of native code, 1 between them; 40 eqns"));
  EXPECT_NEAR(tn::jit(wide)(inputs(0.7)).item<double>(), wide(inputs(0.7)).item<double>(), 1e-10);
}

}  // namespace
