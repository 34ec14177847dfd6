// Functions that compiled programs call: values, derivatives and batches as if they were inlined, errors, cancellation,
// and that they are compiled once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "../by_oracle.h"
#include "tenon/compile/executable.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

// 60 eqns with products, sums, a loop and a choice.
Array step(Array x, Array w) {
  for (int i = 0; i < 10; ++i) x = tn::sin(tn::matmul(x, w)) * 0.5 + x;
  const Array decayed = tn::fori_loop(0, 3, [](Array, Array y) { return y * 0.9 + 0.01; }, x);
  return tn::where(decayed > 0.0, decayed, x) - tn::mean(x);
}
Array numbers(const tn::Shape& shape, double by) {
  return tn::reshape(tn::sin(tn::arange(shape.elements().value(), tn::DType::f64) * by), shape);
}
Array often(const auto& f, Array x, Array w, int times = 8) {
  for (int i = 0; i < times; ++i) x = f(x, w);
  return x;
}
bool calls_a_unit(const tn::ProgramRef& p) {
  return tn::find_eqn(*tn::share_calls(p), [](const tn::Eqn& eqn) { return eqn.op->name == "call"; }) != nullptr;
}

class Units : public testing::Test {
 protected:
  // Native code, with units, for what the evaluator gives.
  void agrees(const auto& f, const auto&... arguments) {
    const tn::ProgramRef p = tn::trace(f)(arguments...);
    EXPECT_TRUE(calls_a_unit(p));
    const std::vector<tn::Value> in{arguments.to_buffer()...};
    const std::vector<tn::Value> native = tn::compile(p)->run(in), wanted = tn::evaluate(*p, {}, in);
    ASSERT_EQ(native.size(), wanted.size());
    for (std::size_t i = 0; i < native.size(); ++i)
      EXPECT_TRUE(
          tn::allclose(Array(std::get<tn::Buffer>(native[i])), Array(std::get<tn::Buffer>(wanted[i])), 1e-9, 1e-9))
          << i;
  }

  Array x = numbers({20, 30}, 0.7), w = numbers({30, 30}, 1.3) * 0.1;
};

TEST_F(Units, GiveWhatInlinedFunctionsGive) {
  const auto f = tn::jit(step);
  const auto whole = [&](Array a, Array b) { return often(f, a, b); };
  const auto loss = [&](Array a, Array b) { return tn::sum(whole(a, b) * a); };
  agrees(whole, x, w);
  agrees(tn::grad<0, 1>(loss), x, w);
  agrees([&](Array a, Array b) { return tn::jvp(whole, std::tuple(a, b), std::tuple(a * 0.3, b)).second; }, x, w);
  agrees(tn::vmap(tn::grad(loss)), tn::stack({x, x * 0.5}), tn::stack({w, w}));
  agrees(tn::grad([&](Array a, Array b) { return tn::sum(tn::grad(loss)(a, b) * a); }), x, w);
}

TEST_F(Units, InLoopsAndBranches) {
  const auto f = tn::jit(step);
  const auto looped = [&](Array a, Array b) {
    return tn::fori_loop(
        0, 3,
        [&](Array i, Array y) {
          return tn::cond(
              tn::sum(y) > Array(i), [&](Array z) { return often(f, z, b); },
              [&](Array z) { return often(f, z * 0.5, b, 3); }, y);
        },
        a);
  };
  agrees(looped, x, w);
  agrees(tn::grad([&](Array a, Array b) { return tn::sum(looped(a, b)); }), x, w);
}

// Units call units; all share what is compiled.
TEST_F(Units, CallEachOther) {
  const auto f = tn::jit(step);
  const auto g = tn::jit([&](Array a, Array b) { return often(f, a, b, 4) - a; });
  const auto whole = [&](Array a, Array b) { return often(g, a, b, 5); };
  agrees(whole, x, w);
  agrees(tn::grad([&](Array a, Array b) { return tn::sum(whole(a, b)); }), x, w);
}

// Operands that lie within other arrays, results that go there, the same operand twice, and one that is overwritten.
TEST_F(Units, OfViewsAndSharedOperands) {
  const auto f = tn::jit(step);
  agrees(
      [&](Array a) {
        Array rows = tn::zeros({12, 30, 30}, tn::DType::f64);
        for (int i = 0; i < 12; ++i) {
          const Array made = f(tn::take(a, i), tn::take(a, i));
          rows = rows.at(i).set(made + f(tn::transpose(made), tn::take(a, i)));
        }
        return rows;
      },
      tn::stack(std::vector<Array>(12, w)));
}

TEST_F(Units, AreCompiledOnceForAllCallers) {
  const auto f = tn::jit(step);
  const auto caller = [&](int times) {
    return tn::compile(tn::trace([&](Array a, Array b) { return often(f, a, b, times); })(x, w));
  };
  const tn::ProgramRef unit = tn::trace(step)(x, w);
  const std::shared_ptr<const tn::Executable> first = caller(8), compiled = tn::compile(unit);
  const long owners = compiled.use_count();
  const auto second = caller(9);
  EXPECT_EQ(compiled.use_count(), owners + 1);
}

TEST_F(Units, AreTold) {
  const auto f = tn::jit(step);
  const std::string told = tn::explain([&](Array a, Array b) {
    return tn::fori_loop(0, 5, [&](Array, Array y) { return often(f, y, b, 2); }, often(f, a, b, 3));
  })(x, w);
  EXPECT_THAT(told, testing::HasSubstr("functions that are compiled by themselves:\n"));
  EXPECT_THAT(told, testing::HasSubstr(" moved a call, called 13 times\n"));
  EXPECT_THAT(told, testing::ContainsRegex("\nsteps of [^\n]*:\n  "));
}

TEST_F(Units, FailuresAndCancellationReachTheCaller) {
  bool fails = false;
  tn::Context context, *cancelled = nullptr;
  int run = 0;
  const auto f = tn::jit([&](Array a, Array b) {
    const Array made = step(a, b);
    return tn::host_call(
        [&](std::span<const Array> in) {
          ++run;
          if (fails) throw std::runtime_error("no more");
          if (cancelled != nullptr) cancelled->cancel();
          return std::vector<Array>{in[0]};
        },
        {made.type()}, {{made}})[0];
  });
  const auto whole = tn::jit([&](Array a, Array b) { return often(f, a, b); });
  EXPECT_NO_THROW(whole(x, w));
  EXPECT_EQ(run, 8);
  fails = true;
  EXPECT_THROW(whole(x, w), std::runtime_error);
  EXPECT_EQ(run, 9);
  fails = false;
  cancelled = &context;
  EXPECT_THROW(whole.with(context)(x, w), tn::CancelledError);
  cancelled = nullptr;
  EXPECT_NO_THROW(whole(x, w));
}

}  // namespace
