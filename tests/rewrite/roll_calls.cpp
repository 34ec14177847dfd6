// Calls that repeat: which of them become loops, and that results stay what they were, to the bit.
#include "tenon/rewrite/roll_calls.h"

#include "tenon/base/settings.h"
#include "tenon/ir/recurse.h"
#include "tenon/ops/control/region.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/transform/gradient.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr int N = 20;

// How often eqns call: `inside` those in loops.
struct Calls {
  int outside = 0, inside = 0, loops = 0;
};
Calls calls_of(const Program& p) {
  Calls all;
  for (const Eqn& eqn : p.eqns()) {
    all.outside += rule_of<LowerCall>(*eqn.op) != nullptr ? 1 : 0;
    if (eqn.op != &loop_op()) continue;
    const Calls within = calls_of(*eqn.params.as<LoopParams>().body);
    all.inside += within.outside + within.inside;
    all.loops += 1 + within.loops;
  }
  return all;
}

Array layer(Array x) { return tanh(x * 1.25 + reverse(x, {0})); }
Array other_layer(Array x) { return sin(x * x + 0.5); }
std::pair<Array, Array> two(Array x, Array y) { return {sin(x) * y, cos(y) + x}; }

struct RolledCase {
  const char* name;
  Array (*f)(Array x);
};

const std::vector<RolledCase> rolled{
    {"OneAfterAnother",
     [](Array x) {
       const auto f = noinline(layer);
       for (int i = 0; i < N; ++i) x = f(x);
       return x;
     }},
    {"WithWhatLiesBetween",
     [](Array x) {
       const auto f = noinline(layer);
       for (int i = 0; i < N; ++i) x = cos(f(x) + x);
       return x;
     }},
    {"WithNumbers",
     [](Array x) {
       const auto f = noinline(layer);
       for (int i = 0; i < N; ++i) x = f(x + 0.1 * i) * (1.0 - 0.01 * i);
       return x;
     }},
    {"InASum",
     [](Array x) {
       const auto f = noinline(layer);
       Array total = 0.0;
       for (int i = 0; i < N; ++i) total = total + sum(f(x + 0.1 * i));
       return total * x;
     }},
    {"InASumThatBeginsWithTheFirst",
     [](Array x) {
       const auto f = noinline(layer);
       Array total = f(x);
       for (int i = 1; i < N; ++i) total = total + f(x * (0.1 * i));
       return total;
     }},
    {"TwoFunctionsInTurn",
     [](Array x) {
       const auto f = noinline(layer), g = noinline(other_layer);
       for (int i = 0; i < N; ++i) x = g(f(x)) + x;
       return x;
     }},
    {"OneFunctionTwiceAStep",
     [](Array x) {
       const auto f = noinline(layer);
       for (int i = 0; i < N; ++i) x = f(x) + f(x * (0.1 * i));
       return x;
     }},
    {"SeveralResults",
     [](Array x) {
       const auto f = noinline(two);
       Array y = x * 0.5, total = x;
       for (int i = 0; i < N; ++i) {
         std::tie(x, y) = f(x, y);
         total = total + x * y;
       }
       return total + y;
     }},
    {"TheLastResultAlone",
     [](Array x) {
       const auto f = noinline(two);
       const Array first = x;
       Array y;
       for (int i = 0; i < N; ++i) std::tie(x, y) = f(x, first);
       return x * y;
     }},
    {"SomeResultsBesides",
     [](Array x) {
       const auto f = noinline(layer);
       const Array first = x;
       Array one;
       for (int i = 0; i < 3 * N; ++i) {
         x = f(x);
         if (i == N) one = x;
       }
       return x * one + first;
     }},
    {"OneRollBehindAnother",
     [](Array x) {
       const auto f = noinline(layer), g = noinline(other_layer);
       Arrays all;
       for (int i = 0; i < N; ++i) all.push_back(x = f(x));
       Array y = x;
       for (int i = 0; i < N; ++i) y = g(y + all[static_cast<std::size_t>(i)]);
       for (int i = 0; i < N; ++i) y = g(y * 0.5 - all[static_cast<std::size_t>(N - 1 - i)]);
       return y;
     }},
    // Neither may wait for the other as a whole.
    {"WhatAllOfThemAreNeededFor",
     [](Array x) {
       const auto f = noinline(layer);
       Arrays all;
       for (int i = 0; i < N; ++i) all.push_back(x = f(x + 0.1 * i));
       Array total = all[0];
       for (int i = 1; i < N; ++i) total = total + all[static_cast<std::size_t>(i)];
       Array y = x;
       for (int i = 0; i < N; ++i) y = f(y + all[static_cast<std::size_t>(i)] / total);
       return y;
     }},
    {"TruthsAndIntegers",
     [](Array x) {
       const auto f = noinline([](Array n, Array b) { return std::pair(n * 3 + 1, b | (n > 100)); });
       Array n = convert(x * 3, DType::i32), b = x > 2;
       for (int i = 0; i < N; ++i) {
         const auto [m, c] = f(n, b);
         n = m - i, b = c ^ Array(i % 3 == 0);
       }
       return convert(n, DType::f64) + convert(b, DType::f64);
     }},
};

ProgramRef rolled_program(const RolledCase& c, DType dtype = DType::f64, const Shape& shape = {3}) {
  return trace(c.f)(zeros(shape, dtype));
}
std::string name_of_rolled(const testing::TestParamInfo<RolledCase>& info) { return info.param.name; }
void PrintTo(const RolledCase& c, std::ostream* to) { *to << c.name; }

class Rolled : public testing::TestWithParam<RolledCase> {};
TEST_P(Rolled, FewCallsAreLeft) {
  const ProgramRef p = rolled_program(GetParam()), q = roll_calls(p);
  const Calls calls = calls_of(*q);
  EXPECT_GE(calls.loops, 1) << q;
  EXPECT_LE(calls.outside + calls.inside, 8) << q;
  expect_same(p, q, waves_for(*p));
}
TEST_P(Rolled, DerivativesToo) {
  const ProgramRef p = rolled_program(GetParam());
  const Mask one{true};
  for (const ProgramRef& d : {jvp(p, one, one), pullback(p, one, one), vmap(p, one, one, 2)}) {
    const ProgramRef q = roll_calls(share_calls(d));
    const Calls calls = calls_of(*q);
    EXPECT_LE(calls.outside + calls.inside, 14) << q;
    expect_same(d, q, waves_for(*d));
  }
  const ProgramRef twice = jvp(pullback(p, one, one), {true, true}, one);
  expect_same(twice, roll_calls(share_calls(twice)), waves_for(*twice));
}
TEST_P(Rolled, CompiledToo) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const ProgramRef p = rolled_program(GetParam(), dtype);
    const Array x(waves(p->input_types()[0]));
    const auto once = [&](Array x) { return GetParam().f(x); };
    EXPECT_TRUE(allclose(jit(once)(x), once(x), 1e-5, 1e-5));
    const auto gradient = grad([&](Array x) { return sum(once(x)); });
    EXPECT_TRUE(allclose(jit(gradient)(x), gradient(x), 1e-3, 1e-3));
  }
}
INSTANTIATE_TEST_SUITE_P(Calls, Rolled, testing::ValuesIn(rolled), name_of_rolled);

TEST(RollCalls, InALoop) {
  const auto f = [](Array x) {
    const auto step = [](const Array& k, Array x) {
      const auto f = noinline(layer);
      for (int i = 0; i < N; ++i) x = f(x + 0.1 * i) * k;
      return x;
    };
    return fori_loop(0, 3, step, x);
  };
  const ProgramRef p = trace(f)(zeros({3}, DType::f64)), q = roll_calls(p);
  EXPECT_EQ(calls_of(*q).loops, 2) << q;
  EXPECT_LE(calls_of(*q).inside, 2) << q;
  expect_same(p, q, waves_for(*p));
  const ProgramRef back = pullback(p, {true}, {true});  // an array of the loop's for each call: they stay
  expect_same(back, roll_calls(share_calls(back)), waves_for(*back));
}

TEST(RollCalls, AnyShapeAndDtype) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::c64, DType::c128})
    for (const Shape& shape : {Shape{1}, Shape{0}, Shape{2, 0}, Shape{2, 3}}) {
      const ProgramRef p = rolled_program(rolled[2], dtype, shape), q = roll_calls(p);
      EXPECT_EQ(calls_of(*q).loops, dtype == DType::c128 ? 0 : 1) << q;
      expect_same(p, q, waves_for(*p));
    }
}

TEST(RollCalls, OfAnySize) {
  const auto f = [](const Array& x) { return rolled[2].f(x); };
  const auto compiled = jit(f, {.sizes = Sizes::symbolic});
  for (const std::int64_t n : {1, 5, 300}) {
    const Array x = sin(arange(n, DType::f64));
    EXPECT_TRUE(allclose(compiled(x), f(x))) << n;
  }
}

TEST(RollCalls, TimeAndSizeDoNotGrowWithCalls) {
  const auto many = [](int n) {
    return trace([n](Array x) {
      const auto f = noinline(layer);
      for (int i = 0; i < n; ++i) x = f(x + 0.1 * i);
      return x;
    })(zeros({3}, DType::f64));
  };
  const ProgramRef some = roll_calls(many(50)), more = roll_calls(many(3000));
  EXPECT_EQ(some->eqns().size(), more->eqns().size()) << more;
}

// Some that stay as they are.
const std::vector<RolledCase> not_rolled{
    {"FewCalls",
     [](Array x) {
       const auto f = noinline(layer);
       for (int i = 0; i < 7; ++i) x = f(x);
       return x;
     }},
    {"WithEffects",
     [](Array x) {
       const auto f = noinline([](Array x) {
         debug_print("{}", x);
         return layer(x);
       });
       for (int i = 0; i < N; ++i) x = f(x);
       return x;
     }},
    {"OfDifferentKinds",
     [](Array x) {
       const auto f = noinline(layer);
       for (int i = 0; i < N; ++i) {
         x = f(x);
         for (int k = 0; k < i % 7; ++k) x = x + sin(x);
       }
       return x;
     }},
    {"WhoseResultsAreAllReadApart",
     [](Array x) {
       const auto f = noinline(layer);
       Arrays all;
       for (int i = 0; i < N; ++i) all.push_back(f(x + 0.1 * i));
       Array y = all[0];
       for (std::size_t i = 1; i < N; ++i) y = i % 2 == 0 ? y * all[i] : (i % 3 == 0 ? y - all[i] : y + sin(all[i]));
       return y;
     }},
};
class NotRolled : public testing::TestWithParam<RolledCase> {};
TEST_P(NotRolled, AsTheyAre) {
  if (units_are_small()) GTEST_SKIP() << "fewer calls are loops there";
  const ProgramRef p = rolled_program(GetParam()), q = roll_calls(p);
  EXPECT_EQ(p->hash(), q->hash()) << q;
}
INSTANTIATE_TEST_SUITE_P(Calls, NotRolled, testing::ValuesIn(not_rolled), name_of_rolled);

}  // namespace
}  // namespace tenon
