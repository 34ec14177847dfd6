// Which calls stay calls, and which outputs theirs are.
#include "tenon/rewrite/share_calls.h"

#include <gtest/gtest.h>

#include "tenon/compile/plan/plan.h"
#include "tenon/ops/control/region.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/by_oracle.h"
#include "tests/island.h"

namespace tenon {
namespace {

bool all_stay() { return std::getenv("TENON_UNITS") != nullptr; }

Array long_function(Array x, int ops) {
  for (int i = 0; i < ops; ++i) x = sin(x) * 0.5;
  return x;
}
// `times` calls of a function of 2·`ops` eqns.
ProgramRef caller(int times, int ops, const Shape& shape = {1000}) {
  const auto f = jit([=](Array x) { return long_function(x, ops); });
  return share_calls(trace([=](Array x) {
    for (int i = 0; i < times; ++i) x = f(x) + 1.0;
    return x;
  })(zeros(shape)));
}
std::int64_t calls(const ProgramRef& program) {
  return std::ranges::count_if(program->eqns(), [](const Eqn& eqn) { return eqn.op == &call_op(); });
}

TEST(ShareCalls, LongFunctionsThatAreCalledOftenStay) {
  const auto inlined = [](std::int64_t times) { return all_stay() ? times : 0; };
  EXPECT_EQ(calls(caller(10, 20)), 10);
  EXPECT_EQ(calls(caller(1, 200)), inlined(1));  // which fuses with what is around it
  EXPECT_EQ(calls(caller(10, 3)), inlined(10));  // too short to be worth it
  EXPECT_EQ(calls(caller(2, 20)), inlined(2));
  EXPECT_EQ(calls(caller(10, 20, {})), inlined(10));  // calls would be felt
  EXPECT_EQ(calls(caller(100, 20, {})), 100);
}

// Calls within functions count as often as the functions are called.
TEST(ShareCalls, CountsCallsOfCalls) {
  const auto inner = jit([](Array x) { return long_function(x, 10); });
  const auto middle = jit([&](Array x) { return inner(x) + inner(x * 2.0); });
  const ProgramRef p = share_calls(trace([&](Array x) {
    for (int i = 0; i < 3; ++i) x = middle(x);
    return x;
  })(zeros({1000})));
  EXPECT_EQ(calls(p), all_stay() ? 3 : 0) << "middle has 43 eqns, 129 in all calls";
  const ProgramRef q = share_calls(trace([&](Array x) {
    for (int i = 0; i < 4; ++i) x = middle(x);
    return x;
  })(zeros({1000})));
  EXPECT_EQ(calls(q), 4);
}

TEST(ShareCalls, WhatNothingReadsIsNotComputed) {
  const auto both = jit([](Array x) { return std::pair(long_function(x, 10), long_function(cos(x), 40)); });
  const ProgramRef p = share_calls(trace([&](Array x) {
    for (int i = 0; i < 10; ++i) x = both(x).first;
    return x;
  })(zeros({1000})));
  EXPECT_EQ(calls(p), 10);
  for (const Eqn& eqn : p->eqns()) {
    if (eqn.op != &call_op()) continue;
    EXPECT_EQ(eqn.out.size(), 1U);
    EXPECT_EQ(rule_of<LowerCall>(*eqn.op)->rule(eqn.params).program->eqns().size(), 22U);
  }
}

// A call would copy what the function changes in a few places.
TEST(ShareCalls, UpdatesInPlaceAreInlined) {
  const auto update = jit([](Array x) {
    for (int i = 0; i < 30; ++i) x = x.at(i).add(1.0);
    return x;
  });
  EXPECT_EQ(calls(share_calls(trace([&](Array x) {
              for (int i = 0; i < 30; ++i) x = update(x);
              return x;
            })(zeros({1000})))),
            0);
}

// Units run between islands; a function whose data decide sizes is no unit.
TEST(ShareCalls, StayBesideIslands) {
  const auto inner = jit([](Array x) { return long_function(x, 20); });
  const auto split = jit([](Array x) { return long_function(x * sum(island(compress(x, x > 0.25))), 20); });
  const auto f = [&](Array x) {
    for (int i = 0; i < 10; ++i) x = inner(x) * 0.5;
    x = x + sum(island(compress(x, x > 0.25)));
    for (int i = 0; i < 10; ++i) x = split(inner(x));
    return x;
  };
  const ProgramRef p = trace(f)(zeros({1000}));
  EXPECT_EQ(calls(flattened(p)), 20);
  EXPECT_FALSE(why_not_native(*flattened(p)).empty());
  const Array x = sin(arange(1000, DType::f64));
  Array want;
  {
    const ByOracle oracle;
    want = f(x);
  }
  EXPECT_TRUE(allclose(jit(f)(x), want, 1e-10, 1e-10));
}

}  // namespace
}  // namespace tenon
