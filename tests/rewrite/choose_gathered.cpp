// Rows read of what loops stack: no gather is left, and results stay what they were.
#include "tenon/rewrite/choose_gathered.h"

#include <gtest/gtest.h>

#include "tenon/compile/pipeline.h"
#include "tenon/rewrite/pass.h"
#include "tenon/rewrite/strictly.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t read_steps = 40, read_rows = 6, read_width = 24;

bool has_gathers(const Program& p) {
  return std::ranges::any_of(p.eqns(), [](const Eqn& eqn) { return eqn.op == &gather_op(); });
}
Array begin_of_rows(DType d) {
  return convert(reshape(remainder(arange(read_rows * read_width) * 7, 13) - 6, {read_rows, read_width}), d);
}
// What the steps of a loop give: [steps, rows, width].
Array stacked(const Array& h) {
  const auto step = [](const Array& c, const Array&) { return std::pair(c * -1 + 1, c * 2 - 1); };
  return scan(step, h, arange(read_steps)).second;
}
// Of each row one step.
Array one_of_each(const Array& x, const Array& steps, const GatherOptions& options) {
  const IndexAxes axes{{1}, {0}, {0}, {1}, {0}};
  return gather(x, expand_dims(steps, -1), axes, {1, 1, x.dim(2)}, options);
}

struct Gathered {
  IndexMode mode;
  DType dtype;
  std::optional<Scalar> fill = {};
};
class GatheredRows : public testing::TestWithParam<Gathered> {};
TEST_P(GatheredRows, AreWhatAGatherReads) {
  const auto [mode, dtype, fill] = GetParam();
  const auto f = [&](const Array& h, const Array& at) {
    return one_of_each(stacked(h), at, {.mode = mode, .fill = fill});
  };
  Array at = arange(read_rows) * 7;
  if (mode != IndexMode::promise_in_bounds)
    at = at - where(at == 0, 50, 0) + where(at == 14, 30, 0);  // some lie outside
  const Array h = begin_of_rows(dtype);
  const ProgramRef p = inline_calls(trace(f)(h, at)), q = choose_gathered(p);
  EXPECT_TRUE(has_gathers(*p));
  EXPECT_FALSE(has_gathers(*q)) << q;
  const std::vector<Value> in{h.value(), at.value()};
  expect_same(p, q, in);
  expect_native({jit(f)(h, at)}, evaluate(*p, {}, in), dtype);
}
INSTANTIATE_TEST_SUITE_P(All, GatheredRows,
                         testing::Values(Gathered{IndexMode::clip, DType::f32},
                                         Gathered{IndexMode::fill, DType::f64, Scalar(-0.5)},
                                         Gathered{IndexMode::fill, DType::f32, Scalar(2.5F)},
                                         Gathered{IndexMode::promise_in_bounds, DType::bf16},
                                         Gathered{IndexMode::fill, DType::i32}, Gathered{IndexMode::clip, DType::i64},
                                         Gathered{IndexMode::clip, DType::c64}));

// As users spell the last valid step of each sequence; forward and in the gradient, no stack beside what that keeps.
struct LastStep {
  const char* name;
  std::function<Array(const Array& ys, const Array& at)> f;
};
const LastStep last_steps[]{
    {"ByTwoIndices", [](const Array& ys, const Array& at) { return ys(at, arange(read_rows)); }},
    {"FromTheEnd", [](const Array& ys, const Array& at) { return square(ys)(at - read_steps, arange(read_rows)); }},
    {"AlongAnAxis",
     [](const Array& ys, const Array& at) {
       return squeeze(take_along_axis(ys, expand_dims(expand_dims(at, 0), -1), 0), 0);
     }},
    {"OfLanes",
     [](const Array& ys, const Array& at) {
       return vmap([](const Array& y, const Array& i) { return y(i); }, {.in_axes = {1, 0}})(ys, at);
     }},
    {"BesideTheMean", [](const Array& ys, const Array& at) { return ys(at, arange(read_rows)) * mean(ys, 0); }},
    {"OfTransposes",
     [](const Array& ys, const Array& at) { return transpose(ys * 2.0, {1, 0, 2})(arange(read_rows), at); }},
};
class LastSteps : public testing::TestWithParam<LastStep> {};
TEST_P(LastSteps, StoreNoStack) {
  const auto f = [](const Array& h, const Array& at) {
    const auto step = [](const Array& c, const Array&) {
      const Array next = sin(c * 1.5);
      return std::pair(next, next);
    };
    return sum(square(GetParam().f(scan(step, h, arange(read_steps)).second, at)));
  };
  const Array h = begin_of_rows(DType::f64), at = arange(read_rows) * 6;
  const auto stacks = [&](const Program& p) {
    double elements = 0;
    for (const Eqn& eqn : p.eqns())
      for (const Var v : eqn.out)
        if (p.type(v).shape.elements().value() >= read_steps * read_rows * read_width / 2) ++elements;
    return elements;
  };
  const ProgramRef p = inline_calls(trace(f)(h, at)), q = run_passes(compile_passes(), p);
  EXPECT_EQ(stacks(*q), 0) << q;
  const std::vector<Value> in{h.value(), at.value()};
  expect_native({jit(f)(h, at)}, evaluate(*p, {}, in), DType::f64);
  const ProgramRef slope = inline_calls(trace(grad(f))(h, at)), made = run_passes(compile_passes(), slope);
  EXPECT_FALSE(std::ranges::any_of(made->eqns(), [](const Eqn& eqn) { return eqn.op == &scatter_op(); })) << made;
  expect_native({jit(grad(f))(h, at)}, evaluate(*slope, {}, in), DType::f64);
}
INSTANTIATE_TEST_SUITE_P(All, LastSteps, testing::ValuesIn(last_steps),
                         [](const auto& info) { return std::string(info.param.name); });

// What is stored anyway is read where it lies; indices that the loop makes are not known in its steps.
TEST(NotGathered, OtherRows) {
  const Array h = begin_of_rows(DType::f32), at = arange(read_rows);
  for (const auto& f : std::vector<std::function<std::vector<Array>(const Array&, const Array&)>>{
           [](const Array& h, const Array& at) {
             const Array ys = stacked(h);
             return std::vector{ys, ys(at, arange(read_rows))};
           },
           [](const Array& h, const Array& at) {
             const Array ys = stacked(h);
             return std::vector{ys(argmax(sum(ys, 2), 0) + at * 0, arange(read_rows))};
           },
           [](const Array& h, const Array& at) { return std::vector{stacked(h)(at)}; },
           [](const Array& h, const Array& at) {  // more of them than each step chooses for
             const Array ys = stacked(h);
             std::vector<Array> all;
             for (int i = 0; i < 5; ++i) all.push_back(ys(at + i, arange(read_rows)));
             return all;
           }}) {
    const ProgramRef p = inline_calls(trace(f)(h, at));
    EXPECT_EQ(choose_gathered(p)->hash(), p->hash()) << p;
  }
  const auto one = [](const Array& h, const Array& at) { return one_of_each(stacked(h), at, {}); };
  const ProgramRef strict = strictly(inline_calls(trace(one)(h, at)));
  EXPECT_EQ(choose_gathered(strict)->hash(), strict->hash()) << strict;
}

}  // namespace
}  // namespace tenon
