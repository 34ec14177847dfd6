// Loops of loops are one loop, where a step does nothing else.
#include "tenon/rewrite/collapse_loops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/ops/control/region.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t chunks = 3, of_chunk = 4, collapsed_width = 5;

Array chunked(DType d, std::vector<Dim> front = {chunks, of_chunk}) {
  front.push_back(collapsed_width);
  const Shape shape(std::move(front));
  return convert(reshape(sin(arange(shape.elements().value(), DType::f64) * 1.3 + 0.4) * 4.0, shape), d);
}

// Loops, the nested ones included.
int all_loops(const Program& p) {
  int count = 0;
  for (const Eqn& eqn : p.eqns()) {
    count += eqn.op == &loop_op();
    eqn.params.visit_programs([&](const ProgramRef& inner) { count += inner ? all_loops(*inner) : 0; });
  }
  return count;
}

std::pair<Array, Array> go_on(const Array& c, const Array& x) {
  const Array next = c * convert(Array(2), c.dtype()) - x;
  return std::pair(next, next);
}
Array nothing_yet(const Array& xs) { return zeros({collapsed_width}, xs.dtype()); }

struct CollapsedCase {
  const char* name;
  std::function<Arrays(const Array& xs, const Array& w)> f;
  int before, after;
};
Arrays two(const std::pair<Array, Array>& p) { return {p.first, p.second}; }

const CollapsedCase collapsed_cases[]{
    {"Chunks",
     [](const Array& xs, const Array&) {
       return two(scan([](const Array& c, const Array& x) { return scan(go_on, c, x); }, nothing_yet(xs), xs));
     },
     2, 1},
    {"Backwards",
     [](const Array& xs, const Array&) {
       const ScanOptions back{.reverse = true};
       return two(
           scan([&](const Array& c, const Array& x) { return scan(go_on, c, x, back); }, nothing_yet(xs), xs, back));
     },
     2, 1},
    {"TwoDirections",
     [](const Array& xs, const Array&) {
       return two(scan([](const Array& c, const Array& x) { return scan(go_on, c, x, {.reverse = true}); },
                       nothing_yet(xs), xs));
     },
     2, 2},
    {"ConstantsOfBoth",
     [](const Array& xs, const Array& w) {
       const auto step = [&](const Array& c, const Array& x) { return go_on(c * w, x); };
       return two(scan([&](const Array& c, const Array& x) { return scan(step, c, x); }, nothing_yet(xs), xs));
     },
     2, 1},
    {"ThreeDeep",
     [](const Array& xs, const Array&) {
       const Array deep = reshape(xs, {chunks, 2, of_chunk / 2, collapsed_width});
       const auto inner = [](const Array& c, const Array& x) { return scan(go_on, c, x); };
       return two(scan([&](const Array& c, const Array& x) { return scan(inner, c, x); }, nothing_yet(xs), deep));
     },
     3, 1},
    {"OnlyTheLastState",
     [](const Array& xs, const Array&) {
       const auto step = [](const Array& c, const Array& x) { return std::pair(go_on(c, x).first, std::tuple<>()); };
       const auto outer = [&](const Array& c, const Array& x) {
         return std::pair(scan(step, c, x).first, std::tuple<>());
       };
       return Arrays{scan(outer, nothing_yet(xs), xs).first};
     },
     2, 1},
    {"EachBeginsAnew",
     [](const Array& xs, const Array&) {
       const auto outer = [](const Array& c, const Array& x) {
         const auto [last, all] = scan(go_on, zeros_like(c), x);
         return std::pair(c + last, all);
       };
       return two(scan(outer, nothing_yet(xs), xs));
     },
     2, 2},
    {"StatesOfChunksStacked",
     [](const Array& xs, const Array&) {
       const auto outer = [](const Array& c, const Array& x) {
         const Array last = scan(go_on, c, x).first;
         return std::pair(last, last);
       };
       return two(scan(outer, nothing_yet(xs), xs));
     },
     2, 2},
    {"MoreInAStep",
     [](const Array& xs, const Array&) {
       const auto outer = [](const Array& c, const Array& x) { return scan(go_on, c, x * x); };
       return two(scan(outer, nothing_yet(xs), xs));
     },
     2, 2},
    {"ReadByAll",  // not row by row
     [](const Array& xs, const Array&) {
       const auto outer = [&](const Array& c, const Array&) { return scan(go_on, c, xs(0)); };
       return two(scan(outer, nothing_yet(xs), xs));
     },
     2, 2},
    {"NoChunks",
     [](const Array& xs, const Array&) {
       return two(
           scan([](const Array& c, const Array& x) { return scan(go_on, c, x); }, nothing_yet(xs), xs(slice(0, 0))));
     },
     2, 1},
    {"NoSteps",
     [](const Array& xs, const Array&) {
       return two(scan([](const Array& c, const Array& x) { return scan(go_on, c, x); }, nothing_yet(xs),
                       xs(all, slice(0, 0))));
     },
     2, 1},
};

class Collapsed : public testing::TestWithParam<std::tuple<CollapsedCase, DType>> {};

TEST_P(Collapsed, StepsComputeTheSame) {
  const auto& [c, dtype] = GetParam();
  const Array xs = chunked(dtype), w = chunked(dtype, {}) * convert(Array(0.5), dtype);
  const ProgramRef p = inline_calls(trace(c.f)(xs, w)), q = collapse_loops(p);
  EXPECT_EQ(all_loops(*p), c.before) << p;
  EXPECT_EQ(all_loops(*q), c.after) << q;
  EXPECT_EQ(collapse_loops(q)->hash(), q->hash());
  expect_same(p, q, {xs.value(), w.value()});
  expect_native(jit(c.f)(xs, w), evaluate(*p, {}, std::vector<Value>{xs.value(), w.value()}), dtype);
}
INSTANTIATE_TEST_SUITE_P(All, Collapsed,
                         testing::Combine(testing::ValuesIn(collapsed_cases),
                                          testing::Values(DType::f64, DType::f32, DType::i32)),
                         case_and_dtype);

// Derivatives of a scan over chunks are those of one over all steps, and as many loops; a checkpoint keeps its own.
TEST(CollapseLoops, Derivatives) {
  const auto chunked_loss = [](const Array& xs) {
    return sum(
        square(scan([](const Array& c, const Array& x) { return scan(go_on, c, x); }, nothing_yet(xs), xs).second));
  };
  const auto plain = [](const Array& xs) {
    return sum(square(scan(go_on, nothing_yet(xs), reshape(xs, {chunks * of_chunk, collapsed_width})).second));
  };
  const Array xs = chunked(DType::f64);
  EXPECT_EQ(all_loops(*inline_calls(trace(grad(chunked_loss))(xs))), 2);
  EXPECT_TRUE(allclose(jit(grad(chunked_loss))(xs), grad(plain)(xs), 1e-12, 1e-12));
  EXPECT_TRUE(allclose(grad(chunked_loss)(xs), grad(plain)(xs), 1e-12, 1e-12));
  const Array lanes = stack({xs, xs * 0.5}, 0);
  EXPECT_TRUE(allclose(jit(vmap(grad(chunked_loss)))(lanes)(1), grad(plain)(xs * 0.5), 1e-12, 1e-12));
  const auto again = [](const Array& xs) {
    const auto outer = [](const Array& c, const Array& x) {
      return checkpoint([](const Array& c, const Array& x) { return scan(go_on, c, x); })(c, x);
    };
    return sum(square(scan(outer, nothing_yet(xs), xs).second));
  };
  EXPECT_GT(all_loops(*inline_calls(trace(grad(again))(xs))), 2);
  EXPECT_TRUE(allclose(jit(grad(again))(xs), grad(plain)(xs), 1e-12, 1e-12));
}

}  // namespace
}  // namespace tenon
