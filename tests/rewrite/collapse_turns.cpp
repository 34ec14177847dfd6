// Loops that take several steps a turn take one where they are differentiated.
#include "tenon/rewrite/collapse_turns.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/region.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t turned_steps = 12, turned_width = 3;

Array turned_rows(DType d, double by = 1.3) {
  return convert(
      reshape(sin(arange(turned_steps * turned_width, DType::f64) * by + 0.4) * 4.0, {turned_steps, turned_width}), d);
}

// The most calls that a body of a loop makes, nested ones included.
std::int64_t most_calls(const Program& p) {
  std::int64_t most = 0;
  for (const Eqn& eqn : p.eqns()) {
    if (eqn.op == &loop_op())
      most =
          std::max(most, static_cast<std::int64_t>(std::ranges::count_if(eqn.params.as<LoopParams>().body->eqns(),
                                                                         [](const Eqn& e) { return is_call(*e.op); })));
    eqn.params.visit_programs([&](const ProgramRef& inner) { most = std::max(most, inner ? most_calls(*inner) : 0); });
  }
  return most;
}

struct TurnedCase {
  const char* name;
  std::function<Arrays(const Array& xs, const Array& w)> f;
  std::int64_t before, after;  // calls of a turn
};
Arrays list_of(const std::pair<Array, Array>& p) { return {p.first, p.second}; }
Array start_of(const Array& xs) { return zeros({turned_width}, xs.dtype()); }
std::pair<Array, Array> next_of(const Array& c, const Array& x) {
  const Array next = c * convert(Array(2), c.dtype()) - x;
  return std::pair(next, next * x);
}

const TurnedCase turned_cases[]{
    {"Unrolled", [](const Array& xs, const Array&) { return list_of(scan(next_of, start_of(xs), xs, {.unroll = 4})); },
     4, 0},
    {"Backwards",
     [](const Array& xs, const Array&) {
       return list_of(scan(next_of, start_of(xs), xs, {.reverse = true, .unroll = 3}));
     },
     3, 0},
    {"WithARest", [](const Array& xs, const Array&) { return list_of(scan(next_of, start_of(xs), xs, {.unroll = 5})); },
     5, 1},
    {"AllInOneTurn",
     [](const Array& xs, const Array&) { return list_of(scan(next_of, start_of(xs), xs, {.unroll = 12})); }, 12, 0},
    {"Constants",
     [](const Array& xs, const Array& w) {
       const auto step = [&](const Array& c, const Array& x) { return next_of(c + w, x * w); };
       return list_of(scan(step, start_of(xs), xs, {.unroll = 4}));
     },
     4, 0},
    {"TwoCarriesThatChangePlaces",
     [](const Array& xs, const Array& w) {
       const auto step = [](const std::pair<Array, Array>& c, const Array& x) {
         return std::pair(std::pair(c.second, c.first - x), c.first);
       };
       const auto [last, all] = scan(step, std::pair(start_of(xs), w), xs, {.unroll = 4});
       return Arrays{last.first, last.second, all};
     },
     4, 0},
    {"NothingStacked",
     [](const Array& xs, const Array&) {
       const auto step = [](const Array& c, const Array& x) { return std::pair(next_of(c, x).first, std::tuple<>()); };
       return Arrays{scan(step, start_of(xs), xs, {.unroll = 4}).first};
     },
     4, 0},
    {"ScalarsOfRows",
     [](const Array& xs, const Array&) {
       const auto step = [](const Array& c, const Array& x) { return std::pair(c + sum(x), sum(x * x)); };
       return list_of(scan(step, sum(start_of(xs)), xs, {.unroll = 4}));
     },
     4, 0},
    {"ByHand",  // each reads what it likes of the turn's rows
     [](const Array& xs, const Array&) {
       const auto f = jit(next_of);
       const auto turn = [&](const Array& c, const Array& x) {
         const auto [a, y] = f(c, x(0));
         const auto [b, z] = f(a, x(1));
         return std::pair(b, stack({y, z}));
       };
       return list_of(scan(turn, start_of(xs), reshape(xs, {turned_steps / 2, 2, turned_width})));
     },
     2, 0},
    {"ByHandInAnotherOrder",
     [](const Array& xs, const Array&) {
       const auto f = jit(next_of);
       const auto turn = [&](const Array& c, const Array& x) {
         const auto [a, y] = f(c, x(1));
         const auto [b, z] = f(a, x(0));
         return std::pair(b, stack({y, z}));
       };
       return list_of(scan(turn, start_of(xs), reshape(xs, {turned_steps / 2, 2, turned_width})));
     },
     2, 2},
    {"ByHandWithMore",
     [](const Array& xs, const Array&) {
       const auto f = jit(next_of);
       const auto turn = [&](const Array& c, const Array& x) {
         const auto [a, y] = f(c, x(0));
         const auto [b, z] = f(a * convert(Array(2), a.dtype()), x(1));
         return std::pair(b, stack({y, z}));
       };
       return list_of(scan(turn, start_of(xs), reshape(xs, {turned_steps / 2, 2, turned_width})));
     },
     2, 2},
    {"OfTheFirstStateAgain",
     [](const Array& xs, const Array&) {
       const auto f = jit(next_of);
       const auto turn = [&](const Array& c, const Array& x) {
         const auto [a, y] = f(c, x(0));
         const auto [b, z] = f(c, x(1));
         return std::pair(b, stack({y, z}));
       };
       return list_of(scan(turn, start_of(xs), reshape(xs, {turned_steps / 2, 2, turned_width})));
     },
     2, 2},
    {"OnlyOneStacked",
     [](const Array& xs, const Array&) {
       const auto f = jit(next_of);
       const auto turn = [&](const Array& c, const Array& x) {
         const auto [a, y] = f(c, x(0));
         return f(a, x(1));
       };
       return list_of(scan(turn, start_of(xs), reshape(xs, {turned_steps / 2, 2, turned_width})));
     },
     2, 2},
};

class TurnedLoops : public testing::TestWithParam<std::tuple<TurnedCase, DType>> {};

TEST_P(TurnedLoops, StepsComputeTheSame) {
  const auto& [c, dtype] = GetParam();
  const Array xs = turned_rows(dtype), w = turned_rows(dtype, 0.7)(1);
  const ProgramRef p = trace(c.f)(xs, w), q = collapse_turns(p);
  EXPECT_EQ(most_calls(*p), c.before) << p;
  EXPECT_EQ(most_calls(*q), c.after) << q;
  EXPECT_EQ(collapse_turns(q)->hash(), q->hash());
  expect_same(p, q, {xs.value(), w.value()});
  // Of lanes: the rows' axis is another one.
  const ProgramRef lanes = vmap(p, Mask{true, false}, Mask(p->outputs().size(), true), Dim(2));
  const ProgramRef turned = collapse_turns(lanes);
  EXPECT_EQ(most_calls(*turned), c.after) << turned;
  expect_same(lanes, turned, {stack({xs, xs + xs}, 0).value(), w.value()});
}
INSTANTIATE_TEST_SUITE_P(All, TurnedLoops,
                         testing::Combine(testing::ValuesIn(turned_cases),
                                          testing::Values(DType::f64, DType::f32, DType::i32)),
                         case_and_dtype);

// A gradient keeps what one of the plain scan keeps, and is as many loops.
TEST(CollapseTurns, Derivatives) {
  const auto loss = [](std::int64_t unroll) {
    return [=](const Array& xs) {
      return sum(square(scan([](const Array& c, const Array& x) { return std::pair(sin(c + x), sin(c + x)); },
                             start_of(xs), xs, {.unroll = unroll})
                            .second));
    };
  };
  const Array xs = turned_rows(DType::f64);
  const Array want = grad(loss(1))(xs);
  for (const std::int64_t unroll : {2, 4, 5, 12}) {
    EXPECT_LE(most_calls(*trace(grad(loss(unroll)))(xs)), 1) << unroll;  // of a rest
    EXPECT_TRUE(allclose(grad(loss(unroll))(xs), want, 1e-12, 1e-12));
    EXPECT_TRUE(allclose(jit(grad(loss(unroll)))(xs), want, 1e-12, 1e-12));
  }
  const Array lanes = stack({xs, xs * 0.5}, 0);
  EXPECT_TRUE(allclose(jit(vmap(grad(loss(4))))(lanes)(0), want, 1e-12, 1e-12));
  EXPECT_TRUE(allclose(jit(grad([&](const Array& x) { return sum(vmap(loss(4))(x)); }))(lanes)(0), want, 1e-12, 1e-12));
}

}  // namespace
}  // namespace tenon
