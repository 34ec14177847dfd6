// What is elementwise between calls of units: where it is stored, and that it is right.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/compile/compilation.h"
#include "tenon/compile/executable.h"
#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr std::int64_t size = 1000, bytes = 4 * size;

Array unit_of(Array x) {
  for (int i = 0; i < 3; ++i) x = sin(x) * 0.5f + x;
  return x - sum(x) * 0.001f;
}
using F = std::function<Array(const Array&)>;

kernel::Function planned(const F& f) {
  const ProgramRef program = trace(f)(full({size}, 0.3f));
  return compilation_of(program).planned->function;
}
std::size_t nests(const kernel::Function& function) {
  return static_cast<std::size_t>(std::ranges::count_if(
      function.body, [](const kernel::Statement& s) { return std::holds_alternative<kernel::Nest>(s.held()); }));
}
std::size_t calls(const kernel::Function& function) {
  return static_cast<std::size_t>(std::ranges::count_if(
      function.body, [](const kernel::Statement& s) { return std::holds_alternative<kernel::Call>(s.held()); }));
}

TEST(UnitCalls, HaveTheirOperandsBeforeThemAndTheirSumBehindThem) {
  constexpr int times = 50;
  const kernel::Function function = planned([&](const Array& x) {
    Array total = x;
    for (int i = 0; i < times; ++i) {  // several functions: calls of one would be a loop
      const auto f = noinline([i](Array x) { return unit_of(x) * static_cast<float>(i % 10); });
      total = total + f(x * (1.5f + 0.1f * static_cast<float>(i)));
    }
    return total;
  });
  ASSERT_EQ(calls(function), static_cast<std::size_t>(times));
  EXPECT_EQ(nests(function), 2u * times - 1);  // the first term alone is no sum
  // Before each call its operand, and before that the sum so far; the first rows are divided together.
  for (std::size_t i = 6; i < function.body.size(); ++i)
    if (std::holds_alternative<kernel::Call>(function.body[i].held())) {
      EXPECT_TRUE(std::holds_alternative<kernel::Nest>(function.body[i - 1].held())) << kernel::print(function);
    }
  EXPECT_LT(function.arena_bytes.value(), 6 * (bytes + 128));  // of one call, and the sum
}

TEST(UnitCalls, SumsThatAreTreesLiveShortly) {
  const auto f = noinline(unit_of);
  const kernel::Function function = planned([&](const Array& x) {
    const std::function<Array(int, int)> sum_of = [&](int first, int n) {
      if (n == 1) return cos(f(x + static_cast<float>(first)));
      const Array left = sum_of(first, n / 2);
      return left + sum_of(first + n / 2, n / 2);
    };
    return sum_of(0, 64);
  });
  EXPECT_EQ(calls(function), 64u);
  EXPECT_LT(function.arena_bytes.value(), 12 * (bytes + 128));  // log n sums
}

// What is combined behind all calls stays one nest.
TEST(UnitCalls, WhatNoCallDividesFuses) {
  const auto f = noinline(unit_of);
  const kernel::Function function = planned([&](const Array& x) {
    const Array a = f(x), b = f(a), c = f(b);
    return (a + b) * c - a * (b + c);
  });
  EXPECT_EQ(calls(function), 3u);
  EXPECT_EQ(nests(function), 1u);
}

// Storing these would take as much memory as what they are made of.
TEST(UnitCalls, WhatSavesNoMemoryIsNotStored) {
  const auto f = noinline(unit_of);
  const kernel::Function function = planned([&](const Array& x) {
    const Array one = f(x), two = f(one);
    return one * 2.f + two * x;
  });
  EXPECT_EQ(calls(function), 2u);
  EXPECT_EQ(nests(function), 1u);
}

TEST(UnitCalls, GiveWhatTheEvaluatorGives) {
  const auto f = noinline(unit_of);
  const auto g = noinline([&](const Array& x) { return unit_of(x) * 0.25f; });
  const auto momentum = [&](const Array& x) {
    Array m = x * 0.f, w = x;
    for (int i = 0; i < 12; ++i) {
      m = m * 0.9f + f(w) * w;
      w = w - m * 0.01f;
    }
    return w + m;
  };
  // Sums that later calls, reductions, reverses and larger arrays read.
  const auto mixed = [&](const Array& x) {
    Array sums = f(x), kept = g(x + 1.f) + sums;
    for (int i = 0; i < 12; ++i) {
      sums = sums + f(reverse(sums, {0}) * 0.1f) + kept * g(x);
      if (i % 3 == 0) kept = kept - sum(sums) * 0.01f;
    }
    const Array outer = sums(all, newaxis) * kept(newaxis, all);
    return sums + kept + sum(outer, 0) * 1e-3f + g(sums * 0.1f) * sum(outer, 1) * 1e-3f;
  };
  const auto both = [&](const Array& x) { return momentum(x) * mixed(x * 0.1f); };
  const Array x = sin(arange(40, DType::f32) * 0.37f);
  const auto agrees = [](const F& of, const Array& in) {
    const ProgramRef program = trace(of)(in);
    const std::vector<Value> inputs{in.to_buffer()};
    const Array native(std::get<Buffer>(compile(program)->run(inputs)[0])),
        wanted(std::get<Buffer>(evaluate(*program, {}, inputs)[0]));
    EXPECT_TRUE(allclose(native, wanted, 2e-3, 2e-3));
  };
  for (const F& each : {F(momentum), F(mixed), F(both)}) {
    agrees(each, x);
    agrees(grad([&](const Array& v) { return sum(square(each(v) * 0.01f)); }), x);
    agrees(vmap(each), stack({x, x * 0.5f}));
  }
}

}  // namespace
}  // namespace tenon
