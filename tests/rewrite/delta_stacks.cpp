// Stacks of arrays that loops update in places: kept as the rows that change, and every result the same to the bit.
#include "tenon/rewrite/delta_stacks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/base/estimate.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t n = 96, steps = 11;  // of the array that is updated; of the loops

Array wave(std::vector<std::int64_t> shape, double by = 1.3) {
  Buffer b = Buffer::allocate(DType::f64, shape);
  for (std::int64_t i = 0; i < b.elements(); ++i) b.as<double>()[i] = std::sin(by * static_cast<double>(i) + 0.4);
  return Array(b);
}

// Elements of what the loops of a Program stack of whole arrays: of n elements, every step; in regions too.
int whole_stacks(const Program& p) {
  int count = 0;
  for (const Eqn& eqn : p.eqns()) {
    if (eqn.op == &loop_op()) {
      const auto& q = eqn.params.as<LoopParams>();
      for (std::size_t i = static_cast<std::size_t>(q.carries); i < eqn.out.size(); ++i) {
        const Type& element = leaf_type(q.body->type(q.body->outputs()[i]));
        count += estimate(element.shape.elements()) >= static_cast<double>(n);
      }
    }
    eqn.params.visit_programs([&](const ProgramRef& inside) { count += inside ? whole_stacks(*inside) : 0; });
  }
  return count;
}

void expect_same(const Program& a, const Program& b) {
  const std::vector<Value> in = waves_for(a), x = evaluate(a, {}, in), y = evaluate(b, {}, in);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(array_equal(Array(std::get<Buffer>(x[i])), Array(std::get<Buffer>(y[i])))) << i << "\n" << print(b);
}

// A function of one array of n elements, from a step that updates an array beside a number.
using Step = std::function<std::pair<Array, Array>(const Array& c, const Array& ys, const Array& xs, const Array& t)>;
struct Case {
  const char* name;
  Step step;
  int left = 0;  // stacks of whole arrays that are needed
};
Array run_steps(const Step& step, const Array& xs, bool reverse = false) {
  const auto body = [&](std::pair<Array, Array> c, const Array& t) {
    return std::pair(step(c.first, c.second, xs, t), std::tuple<>());
  };
  const auto [c, ys] =
      scan(body, std::pair(Array(0.3), cos(xs)), iota(DType::i64, {steps}, 0), {.reverse = reverse}).first;
  return c + sum(ys * ys) * 0.1;
}
Array read(const Array& ys, const Array& xs) { return sin(sum(ys * xs)); }

const std::vector<Case> cases{
    {"ReadAfterTheUpdate",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = ys.at(t).set(sin(c));
       return std::pair(read(next, xs) + c, next);
     }},
    {"ReadBeforeTheUpdate", [](const Array& c, const Array& ys, const Array& xs,
                               const Array& t) { return std::pair(read(ys, xs) + c, ys.at(t * 2).set(c * c)); }},
    {"ReadBetweenTwoUpdates",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array half = ys.at(t).set(c);
       return std::pair(read(half, xs) + c, half.at(t + std::int64_t(1)).add(c * 0.5));
     }},
    {"OneElementTwice",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = ys.at(t / std::int64_t(2)).set(c).at(t / std::int64_t(2)).set(sin(c));
       return std::pair(read(next, xs), next);
     }},
    {"RowsThatMeet",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = ys.at(stack({t, t, t / std::int64_t(3)})).add(stack({c, c * 2.0, sin(c)}));
       return std::pair(read(next, xs), next);
     }},
    {"LargestAndLeast",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = ys.at(t).max(c).at(t + std::int64_t(3)).min(c * 0.5);
       return std::pair(read(next, xs) + 0.1, next);
     }},
    {"OutOfBounds",  // nothing is written there
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = ys.at(t * 20).set(c + 1.0);
       return std::pair(read(next, xs), next);
     }},
    {"SlicesMovedInside",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next =
           dynamic_update_slice(ys, stack({c, c * 2.0, c * 3.0}), std::vector<Array>{t * std::int64_t(10)});
       return std::pair(read(next, xs), next);
     }},
    {"InOneBranch",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = cond(
           c > 0.2, [](Array ys, Array c, Array t) { return ys.at(t).set(c).at(t * 2).add(c); },
           [](Array ys, Array, Array) { return ys; }, ys, c, t);
       return std::pair(read(next, xs) + c * 0.5, next);
     }},
    {"InEachBranchOtherwise",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = cond(
           c > 0.2, [](Array ys, Array c, Array t) { return ys.at(t).set(c); },
           [](Array ys, Array c, Array t) { return ys.at(stack({t, t + std::int64_t(7)})).add(c).at(t).mul(c); }, ys, c,
           t);
       return std::pair(read(next, xs) + c * 0.5, next);
     }},
    {"InALoop",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       const Array next = fori_loop(
           std::int64_t(0), std::int64_t(3), [&](Array k, Array ys) { return ys.at(t + k).set(sin(c) * 0.7); }, ys);
       return std::pair(read(next, xs) + c, next);
     }},
    {"ReadInALoop",  // stacks of stacks
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       return fori_loop(
           std::int64_t(0), std::int64_t(3),
           [&](Array k, std::pair<Array, Array> s) {
             const Array next = s.second.at(t + k).set(sin(s.first));
             return std::pair(read(next, xs) + s.first, next);
           },
           std::pair(c, ys));
     }},
    {"ReadInALoopOfUnknownLength",
     [](const Array& c, const Array& ys, const Array& xs, const Array& t) {
       using State = std::tuple<Array, Array, Array>;
       const auto [k, next_c, next] =
           while_loop([](State s) { return (std::get<0>(s) < std::int64_t(3)) & (std::get<1>(s) < 2.0); },
                      [&](State s) {
                        const auto& [k, c, ys] = s;
                        const Array next = ys.at(t + k).set(sin(c));
                        return State(k + std::int64_t(1), read(next, xs) + c, next);
                      },
                      State(std::int64_t(0), c, ys));
       return std::pair(next_c, next);
     }},
    {"AllElements",  // rows as large as the array
     [](const Array& c, const Array& ys, const Array& xs, const Array&) {
       const Array next = ys.at(iota(DType::i64, ys.shape(), 0)).set(sin(ys) * c);
       return std::pair(read(next, xs), next);
     },
     2},
};

class Deltas : public testing::TestWithParam<Case> {
 protected:
  // What a derivative keeps is as told, before and after; values are the same, evaluated and compiled.
  template <class F>
  void expect_deltas(const F& f, const Array& x) {
    const ProgramRef p = compose_views(inline_calls(trace(f)(x)));
    const ProgramRef q = delta_stacks(p);
    EXPECT_GT(whole_stacks(*p), 0);
    EXPECT_EQ(whole_stacks(*q), GetParam().left) << print(*q);
    EXPECT_EQ(delta_stacks(q)->hash(), q->hash());
    expect_same(*p, *q);
    expect_compiled(f, x);
  }
  template <class F>
  void expect_compiled(const F& f, const Array& x) {
    const Array compiled = jit(f)(x), plain = f(x);
    EXPECT_LT(amax(abs(compiled - plain)).template item<double>(),
              1e-11 * (1 + amax(abs(plain)).template item<double>()));
  }
};

TEST_P(Deltas, OfTheGradient) {
  expect_deltas(grad([](Array x) { return run_steps(GetParam().step, x); }), wave({n}));
}
TEST_P(Deltas, OfTheGradientOfALoopInReverse) {
  expect_deltas(grad([](Array x) { return run_steps(GetParam().step, x, true); }), wave({n}));
}

// Of arrays of any length, those of the steps included.
TEST_P(Deltas, OfTheGradientForAnyLength) {
  const auto f = grad([](Array x) { return run_steps(GetParam().step, x); });
  const ProgramRef p = [&] {
    Scope scope;
    const Array x = scope.input(Type::array(DType::f64, {scope.size_param()}));
    return compose_views(inline_calls(scope.finish(Arrays{f(x)}).program));
  }();
  const ProgramRef q = delta_stacks(p);
  EXPECT_GT(whole_stacks(*p), 0);
  EXPECT_EQ(whole_stacks(*q), GetParam().left) << print(*q);
  for (const std::int64_t length : {n, n - 7}) {
    const std::vector<std::int64_t> sizes{length};
    const std::vector<Value> in{wave({length}).value()};
    const auto want = evaluate(*p, sizes, in), got = evaluate(*q, sizes, in);
    EXPECT_TRUE(array_equal(Array(std::get<Buffer>(got[0])), Array(std::get<Buffer>(want[0])))) << print(*q);
  }
  const auto compiled = jit(f, {.sizes = Sizes::symbolic});
  for (const std::int64_t length : {n, n + 5})
    EXPECT_LT(amax(abs(compiled(wave({length})) - f(wave({length})))).item<double>(), 1e-11) << length;
}

TEST_P(Deltas, OfLanesOfGradients) {
  const auto f = vmap(grad([](Array x) { return run_steps(GetParam().step, x); }));
  // Lanes of their own lengths are not followed, nor a stack of stacks whose lanes come first in each step.
  if (std::string_view(GetParam().name).starts_with("ReadInALoop")) return expect_compiled(f, wave({2, n}));
  expect_deltas(f, wave({2, n}));
}
TEST_P(Deltas, OfTheGradientOfLanes) {
  const auto lanes = vmap([](Array x) { return run_steps(GetParam().step, x); });
  const auto f = grad([&](Array x) { return sum(lanes(x)); });
  if (std::string_view(GetParam().name).ends_with("UnknownLength")) return expect_compiled(f, wave({2, n}));
  expect_deltas(f, wave({2, n}));
}
TEST_P(Deltas, OfSecondDerivatives) {
  const auto f = [](Array x) { return run_steps(GetParam().step, x); };
  expect_compiled(grad([&](Array x) { return sum(sin(grad(f)(x))); }), wave({n}));
  expect_compiled([&](Array x) { return jvp(grad(f), std::tuple(x), std::tuple(cos(x))).second; }, wave({n}));
  expect_compiled(jacrev([&](Array x) { return sum(reshape(grad(f)(x), {4, -1}), 1); }), wave({n}));
}

INSTANTIATE_TEST_SUITE_P(Steps, Deltas, testing::ValuesIn(cases), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tenon
