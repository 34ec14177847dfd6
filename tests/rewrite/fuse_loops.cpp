// Loops over the same steps are one, where one reads what the other stacks or both read the same.
#include "tenon/rewrite/fuse_loops.h"

#include <gtest/gtest.h>

#include "tenon/ir/print.h"
#include "tenon/ops/control/region.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t fused_steps = 5, fused_rows = 4, fused_width = 6;

Array fused_wave(const Shape& shape, double by, DType dtype) {
  return convert(reshape(sin(arange(shape.elements().value(), DType::f64) * by + 0.4) * 4.0, shape), dtype);
}
Array first_steps(DType d) { return fused_wave({fused_steps, fused_rows, fused_width}, 1.3, d); }
Array second_steps(DType d) { return fused_wave({fused_steps, fused_rows, fused_width}, 0.7, d); }

int loops_of(const Program& p) { return static_cast<int>(std::ranges::count(p.eqns(), &loop_op(), &Eqn::op)); }
std::int64_t stacked_by_loops(const Program& p) {  // elements that something reads
  const std::vector<int> reads = reads_of(p);
  std::int64_t count = 0;
  for (const Eqn& eqn : p.eqns())
    if (eqn.op == &loop_op())
      for (std::size_t i = static_cast<std::size_t>(eqn.params.as<LoopParams>().carries); i < eqn.out.size(); ++i)
        if (reads[eqn.out[i]] > 0) count += p.type(eqn.out[i]).shape.elements().value();
  return count;
}

// Running sums of what `of` makes of each step and of the sum so far.
template <class F>
std::pair<Array, Array> runs(F of, const Array& xs, ScanOptions options = {}) {
  return scan(
      [&](const Array& c, const Array& x) {
        const Array next = of(c, x);
        return std::pair(next, next);
      },
      zeros(xs.shape().without_axis(0), xs.dtype()), xs, options);
}
Array added(const Array& c, const Array& x) { return c + x; }
Array mixed(const Array& c, const Array& x) { return c * convert(Array(2), c.dtype()) - x; }

constexpr std::int64_t one_stack = fused_steps * fused_rows * fused_width;

struct FusedCase {
  const char* name;
  std::function<Arrays(Array xs, Array ys)> f;
  int before, after;     // loops
  std::int64_t stacked;  // elements, in the end
};

const FusedCase fused_cases[]{
    {"OneBehindTheOther", [](Array x, Array) { return Arrays{runs(added, runs(mixed, x).second).second}; }, 2, 1,
     one_stack},
    {"AChain",
     [](Array x, Array) {
       for (int i = 0; i < 7; ++i) x = runs(added, x).second;
       return Arrays{x};
     },
     7, 1, one_stack},
    {"BothReadTheSame", [](Array x, Array) { return Arrays{runs(added, x).first, runs(mixed, x).second}; }, 2, 1,
     one_stack},
    {"WhatIsReadElsewhereIsStacked",
     [](Array x, Array y) {
       const Array all = runs(added, x).second;
       return Arrays{runs(mixed, all).second, all * y};
     },
     2, 1, 2 * one_stack},
    {"AResultIsStacked",
     [](Array x, Array) {
       const Array all = runs(added, x).second;
       return Arrays{runs(mixed, all).first, all};
     },
     2, 1, one_stack},
    {"Backwards",
     [](Array x, Array) {
       const ScanOptions back{.reverse = true};
       return Arrays{runs(added, runs(mixed, x, back).second, back).second};
     },
     2, 1, one_stack},
    {"OfTwoDirections",
     [](Array x, Array) { return Arrays{runs(added, runs(mixed, x).second, {.reverse = true}).second}; }, 2, 2,
     2 * one_stack},
    {"OfOtherLengths",
     [](Array x, Array) { return Arrays{runs(added, runs(mixed, x).second(slice(1, fused_steps))).second}; }, 2, 2,
     2 * one_stack - fused_rows* fused_width},
    {"FromTheLastState",
     [](Array x, Array) {
       const auto [last, all] = runs(mixed, x);
       return Arrays{
           scan([](const Array& c, const Array& r) { return std::pair(c + r, std::tuple<>()); }, last, all).first};
     },
     2, 2, one_stack},
    {"OfAllStepsAsAConstant",
     [](Array x, Array y) {
       const Array all = runs(mixed, x).second;
       return Arrays{runs([&](const Array& c, const Array& r) { return c + r * all(0); }, y).second};
     },
     2, 2, 2 * one_stack},
    {"OfAReductionOfTheFirst",
     [](Array x, Array) {
       const Array all = runs(mixed, x).second, most = amax(all, 0);
       return Arrays{runs([&](const Array& c, const Array& r) { return c + r * most; }, all).second};
     },
     2, 2, 2 * one_stack},
    {"OperandsMadeBetween",
     [](Array x, Array y) {
       const Array all = runs(mixed, x).second, most = amax(y, 0);
       return Arrays{runs([&](const Array& c, const Array& r) { return c + r * most; }, all).second};
     },
     2, 1, one_stack},
    {"OneConstantOfBoth",
     [](Array x, Array y) {
       const auto of = [&](const Array& c, const Array& r) { return c + r * y(0); };
       return Arrays{runs(of, runs(of, x).second).second};
     },
     2, 1, one_stack},
    {"TwoChains",
     [](Array x, Array y) {
       return Arrays{runs(added, runs(mixed, x).second).second, runs(mixed, runs(added, y).second).second};
     },
     4, 2, 2 * one_stack},
    {"AcrossEachOther",
     [](Array x, Array y) {
       const Array a = runs(mixed, x).second, b = runs(added, y).second;
       return Arrays{runs(added, a).second, runs(mixed, b).second};
     },
     4, 2, 2 * one_stack},
    {"OneOfItsRowsNeedsAll",
     [](Array x, Array) {
       const auto of = [](const Array& c, const Array& r) { return c + r - amax(r, Axes(0).keepdims()); };
       return Arrays{runs(of, runs(mixed, x).second).second};
     },
     2, 2, 2 * one_stack},
    {"WhatIsUpdatedIsReadBefore",
     [](Array x, Array y) {
       const Array sorted = sort(y, 0), all = runs(mixed, x).second;
       const Array read = sorted * x, changed = sorted.at(0).set(y(1));
       return Arrays{
           scan([](const Array& c, const Array& r) { return std::pair(c + r, std::tuple<>()); }, changed(0), all).first,
           read};
     },
     2, 2, one_stack},
    {"SingleNumbers",
     [](Array x, Array) {
       const Array numbers = x(all, 0, 0);
       return Arrays{runs(added, numbers).first, runs(mixed, numbers).first};
     },
     2, 2, 0},
    {"NoSteps", [](Array x, Array) { return Arrays{runs(added, runs(mixed, x(slice(0, 0))).second).second}; }, 2, 1, 0},
    {"InALoop",
     [](Array x, Array) {
       return Arrays{
           fori_loop(0, 3, [&](Array, Array c) { return runs(added, runs(mixed, x * c).second).first; }, x(0))};
     },
     1, 1, 0},
};

class Fused : public testing::TestWithParam<std::tuple<FusedCase, DType>> {};

TEST_P(Fused, StepsComputeTheSame) {
  const auto& [c, dtype] = GetParam();
  const Array x = first_steps(dtype), y = second_steps(dtype);
  const ProgramRef p = inline_calls(trace(c.f)(x, y)), q = fuse_loops(p);
  EXPECT_EQ(loops_of(*p), c.before) << p;
  EXPECT_EQ(loops_of(*q), c.after) << q;
  EXPECT_EQ(stacked_by_loops(*q), c.stacked) << q;
  EXPECT_EQ(fuse_loops(q)->hash(), q->hash());
  expect_same(p, q, {x.value(), y.value()});
  expect_native(jit(c.f)(x, y), evaluate(*p, {}, std::vector<Value>{x.value(), y.value()}), dtype);
}
INSTANTIATE_TEST_SUITE_P(All, Fused,
                         testing::Combine(testing::ValuesIn(fused_cases),
                                          testing::Values(DType::f64, DType::f32, DType::i32)),
                         case_and_dtype);

// Derivatives and batches of layers of a recurrent network, and lengths that vary.
TEST(FuseLoops, LayersOfARecurrentNetwork) {
  const auto layer = [](const Array& w, const Array& xs) {
    return scan(
               [&](const Array& h, const Array& x) {
                 const Array next = tanh(matmul(h, w) + x);
                 return std::pair(next, next);
               },
               zeros_like(xs(0)), xs)
        .second;
  };
  const auto loss = [&](const Array& w, const Array& xs) { return mean(square(layer(w, layer(w, xs)))); };
  const Array w = fused_wave({fused_width, fused_width}, 0.9, DType::f64) * 0.1, xs = first_steps(DType::f64);
  const auto expect_one = [&](const auto& f, int loops, const Array& w, const Array& xs) {
    const ProgramRef p = compose_views(inline_calls(trace(f)(w, xs))), q = fuse_loops(p);
    EXPECT_EQ(loops_of(*q), loops) << q;
    expect_same(p, q, {w.value(), xs.value()});
    EXPECT_TRUE(allclose(jit(f)(w, xs), f(w, xs), 1e-12, 1e-12));
  };
  expect_one(loss, 1, w, xs);
  expect_one(grad<0>(loss), 2, w, xs);  // one forwards, one backwards
  expect_one(vmap(loss, {.in_axes = {none, 0}}), 1, w, stack({xs, xs * 0.5}, 0));
  const auto sums = [&](const Array& xs) { return runs(mixed, runs(added, xs).second).second; };
  EXPECT_TRUE(allclose(jit(sums, {.sizes = Sizes::symbolic})(xs), sums(xs), 1e-12, 1e-12));
}

}  // namespace
}  // namespace tenon
