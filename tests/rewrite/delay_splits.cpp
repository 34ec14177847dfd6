// Reductions of what loops of loops stack are streams of the one loop that these become.
#include "tenon/rewrite/delay_splits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/ops/control/region.h"
#include "tenon/rewrite/collapse_loops.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/hoist_reductions.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t split_chunks = 3, split_steps = 4, split_rows = 2, split_width = 5;

struct SplitCase {
  const char* name;
  std::function<Array(const Array& ys, const Array& xs)> f;  // of stacks [chunks, steps, rows, width]
  bool streams = true;
};

const SplitCase split_cases[]{
    {"SumOfAll", [](const Array& y, const Array&) { return sum(y); }},
    {"MeanSquare", [](const Array& y, const Array&) { return mean(square(y)); }},
    {"OverBothAxes", [](const Array& y, const Array&) { return max(y, Axes{0, 1}); }},
    {"OverBothAxesAndRows", [](const Array& y, const Array&) { return min(y * 2.0, Axes{0, 1, 2}); }},
    {"RowsFirst", [](const Array& y, const Array&) { return sum(sin(sum(y, 3)), {0, 1}); }},
    {"BesideWhatTheyRead", [](const Array& y, const Array& x) { return mean(square(y - x)); }},
    {"BesideWhatRepeats", [](const Array& y, const Array& x) { return sum(y * x(0, 0) + x(0, 0, 0), {0, 1}); }},
    {"UnderAMaskOfSteps",
     [](const Array& y, const Array& x) {
       return sum(where(reshape(x(all, all, 0, 0) > 0.0, {split_chunks, split_steps, 1, 1}), y, 0.0));
     }},
    {"ByAWeightOfChunks",
     [](const Array& y, const Array& x) {
       return sum(y * reshape(x(all, 0, 0, 0), {split_chunks, 1, 1, 1}), {0, 1, 3});
     }},
    {"Transposed", [](const Array& y, const Array&) { return sum(square(transpose(y, {2, 0, 1, 3})), {1, 2}); }},
    {"Variance", [](const Array& y, const Array&) { return var(y, {0, 1}); }},
    {"VarianceOfAll", [](const Array& y, const Array&) { return var(y); }},
    {"LogSumExp", [](const Array& y, const Array&) { return logsumexp(y, Axes{0, 1}); }},
    {"Broadcast", [](const Array& y, const Array& x) { return sum(sin(expand_dims(y, 4) * x(0, 0, all, 0)), {0, 1}); }},
    {"TwoOfOne", [](const Array& y, const Array&) { return sum(y) * max(y) + sum(abs(y), {0, 1})(0, 0); }},
    {"OverOneOfThem", [](const Array& y, const Array&) { return sum(y, 1); }, false},
    {"OneOfThemAndBoth", [](const Array& y, const Array&) { return sum(y, 1)(0) + sum(y, {0, 1}); }, false},
    {"ReadElsewhereToo", [](const Array& y, const Array&) { return y(1, 2) * sum(y, {0, 1}); }, false},
    {"AxesInAnotherOrder", [](const Array& y, const Array&) { return sum(transpose(y, {1, 0, 2, 3}), {0, 1}); }, false},
};

class DelayedSplit : public testing::TestWithParam<std::tuple<SplitCase, DType>> {};

Array split_program(const SplitCase& c, const Array& x, bool deep) {
  const auto chunk = [&](const Array& c, const Array& x) { return scan(sine_step, c, x); };
  const Array begin = zeros_like(x(0, 0));
  if (!deep) return c.f(scan(chunk, begin, x).second, x);
  const Array all = reshape(x, {split_chunks, 2, split_steps / 2, split_rows, split_width});
  return c.f(
      reshape(scan([&](const Array& c, const Array& x) { return scan(chunk, c, x); }, begin, all).second, x.shape()),
      x);
}

TEST_P(DelayedSplit, Streams) {
  const auto& [c, dtype] = GetParam();
  const Shape shape{split_chunks, split_steps, split_rows, split_width};
  const Array x = convert(reshape(sin(arange(shape.elements().value(), DType::f64) * 1.3 + 0.4), shape), dtype);
  for (const bool deep : {false, true}) {
    const auto f = [&](const Array& x) { return split_program(c, x, deep); };
    const ProgramRef p = inline_calls(trace(f)(x));
    const ProgramRef q = delay_splits(compose_views(collapse_loops(p)));
    EXPECT_EQ(delay_splits(q)->hash(), q->hash());
    const ProgramRef streamed = hoist_reductions(q);
    if (c.streams && !deep) {
      EXPECT_LT(most_elements(*streamed), shape.elements().value()) << streamed;
    }
    const std::vector<Value> in{x.value()};
    const auto want = evaluate(*p, {}, in), got = evaluate(*q, {}, in);
    const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-4;
    EXPECT_TRUE(allclose(Array(std::get<Buffer>(got[0])), Array(std::get<Buffer>(want[0])), tolerance, tolerance)) << q;
    expect_native({jit(f)(x)}, want, dtype);
    const auto loss = [&](const Array& x) { return sum(f(x) * 0.5); };
    EXPECT_TRUE(allclose(jit(grad(loss))(x), grad(loss)(x), tolerance * 100, tolerance * 100));
    EXPECT_TRUE(allclose(jit(vmap(f))(stack({x, x * 0.5}, 0))(1), f(x * 0.5), tolerance * 10, tolerance * 10));
  }
}
INSTANTIATE_TEST_SUITE_P(All, DelayedSplit,
                         testing::Combine(testing::ValuesIn(split_cases), testing::Values(DType::f64, DType::f32)),
                         case_and_dtype);

}  // namespace
}  // namespace tenon
