// What code works out of its sizes before a call, held against Dims evaluated step by step.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tenon/base/dim_code.h"
#include "tenon/base/error.h"
#include "tenon/compile/native/codegen.h"
#include "tests/fuzzing.h"

namespace tenon {
namespace {

constexpr std::uint32_t variables = 3;

class Dims {
 public:
  explicit Dims(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_); }
  Dim any(int depth) {
    if (depth == 0) return below(3) > 0 ? Dim::variable(static_cast<SizeVar>(below(variables))) : Dim(below(9) - 2);
    const Dim x = any(depth - 1);
    switch (below(7)) {
      case 0:
        return x + any(depth - 1);
      case 1:
        return x - any(depth - 1);
      case 2:
        return x * any(depth - 1);
      case 3:
        return floor_div(x, divisor(depth));
      case 4:
        return modulo(x, divisor(depth));
      case 5:
        return min(x, any(depth - 1));
      default:
        return max(x, any(depth - 1));
    }
  }

 private:
  Dim divisor(int depth) { return below(2) == 0 ? Dim(below(100) + 1) : max(any(depth - 1), 1); }
  std::mt19937_64 random_;
};

std::optional<std::int64_t> evaluated(const Dim& dim, std::span<const std::int64_t> sizes) {
  try {
    return DimCode(dim)(sizes);
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

NativeCode code_of(const CallSizes& sizes) {
  kernel::Function function;
  function.name = "sizes";
  function.sizes = variables;
  return NativeCode(generate_code(function, sizes), {});
}

TEST(CallSizes, LimitsAreKept) {
  const Dim n = Dim::variable(0), m = Dim::variable(1);
  const NativeCode code = code_of({{{n, 1}, {n - m, 3}}, {n * m, floor_div(n, m), Dim(7)}});
  std::int64_t values[3];
  const auto holds = [&](std::int64_t a, std::int64_t b) {
    const std::int64_t sizes[]{a, b, 0};
    return code.sizes(sizes, values) != 0;
  };
  ASSERT_TRUE(holds(10, 4));
  EXPECT_EQ(values[0], 40);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(values[2], 7);
  EXPECT_TRUE(holds(7, 4));
  EXPECT_FALSE(holds(6, 4));
  EXPECT_FALSE(holds(0, 0));
}

TEST(CallSizes, WhatLeaves64BitsIsOutOfTheLimits) {
  const Dim n = Dim::variable(0);
  const NativeCode code = code_of({{}, {n * n * n}});
  std::int64_t value;
  const std::int64_t fits[]{2'000'000, 1, 1}, large[]{3'000'000, 1, 1};
  EXPECT_NE(code.sizes(fits, &value), 0);
  EXPECT_EQ(value, 8'000'000'000'000'000'000);
  EXPECT_EQ(code.sizes(large, &value), 0);
}

TEST(CallSizes, FuzzRandomDims) {
  SCOPED_TRACE(fuzzing::repeat_with());
  Dims dims(fuzzing::seed());
  for (std::int64_t c = 0; c < fuzzing::cases(20); ++c) {
    CallSizes all;
    for (int i = 0; i < 12; ++i) {
      try {
        all.values.push_back(dims.any(static_cast<int>(dims.below(4))));
        all.limits.push_back({dims.any(2), dims.below(5) - 3});
      } catch (const ShapeError&) {  // a number that leaves 64 bits
      }
    }
    const NativeCode code = code_of(all);
    for (int k = 0; k < 50; ++k) {
      std::int64_t sizes[variables];
      for (std::int64_t& size : sizes) size = dims.below(dims.below(4) == 0 ? std::int64_t(1) << 40 : 50);
      std::vector<std::int64_t> values(all.values.size());
      const bool holds = code.sizes(sizes, values.data()) != 0;
      bool fits = true, within = true;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto want = evaluated(all.values[i], sizes);
        fits = fits && want;
        if (holds) {
          ASSERT_EQ(values[i], want.value_or(-1)) << all.values[i].text();
        }
      }
      for (const CallSizes::AtLeast& limit : all.limits) {
        const auto want = evaluated(limit.size, sizes);
        fits = fits && want;
        within = within && want && *want >= limit.least;
      }
      ASSERT_EQ(holds, fits && within);
    }
  }
}

}  // namespace
}  // namespace tenon
