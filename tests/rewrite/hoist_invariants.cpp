// What each step of a loop would compute alike is computed before it, once.
#include "tenon/rewrite/hoist_invariants.h"

#include <gtest/gtest.h>

#include "tenon/ir/print.h"
#include "tenon/ops/control/region.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

Array wave(std::initializer_list<Dim> shape, double by) {
  const Shape s(shape);
  return reshape(sin(arange(s.elements().value(), DType::f64) * by + 0.4), s);
}

// Eqns of these names in the bodies of loops, and in them alone.
int inside(const Program& p, std::string_view name, bool in_loop = false) {
  int count = 0;
  for (const Eqn& eqn : p.eqns()) {
    count += in_loop && eqn.op->name == name;
    eqn.params.visit_programs([&](const ProgramRef& q) {
      if (q) count += inside(*q, name, in_loop || eqn.op == &loop_op());
    });
  }
  return count;
}

template <class F>
ProgramRef expect_hoisted(F f, std::string_view name, int before, int after, const Array& x, const Array& w) {
  const ProgramRef p = inline_calls(trace(f)(x, w)), q = hoist_invariants(p);
  EXPECT_EQ(inside(*p, name), before) << p;
  EXPECT_EQ(inside(*q, name), after) << q;
  EXPECT_EQ(hoist_invariants(q)->hash(), q->hash());  // nothing is left to do
  expect_same(p, q, {x.value(), w.value()});
  return q;
}

const Array x = wave({3}, 1.3), w = wave({3, 3}, 0.7);

TEST(HoistInvariants, SumsOfConstants) {
  expect_hoisted(
      [](const Array& x, const Array& w) {
        return fori_loop(0, 4, [&](Array, Array c) { return sin(c + sum(exp(w), 1)); }, x);
      },
      "sum", 1, 0, x, w);
}

TEST(HoistInvariants, ProductsOfConstants) {
  expect_hoisted(
      [](const Array& x, const Array& w) {
        return fori_loop(0, 4, [&](Array, Array c) { return matmul(matmul(w, w), sin(c)); }, x);
      },
      "dot", 2, 1, x, w);
}

// Before rules order products for one step: `(c @ w) @ w` is less than `c @ (w @ w)` there, and more in many steps.
TEST(HoistInvariants, MatricesOfManySteps) {
  const auto last = [](std::int64_t steps) {
    return [=](const Array& x, const Array& w) {
      return fori_loop(0, steps, [&](Array, Array c) { return sin(matmul(c, 2.0 * matmul(matmul(w, w), w))); }, x);
    };
  };
  const auto inside_of = [&](std::int64_t steps) {
    const ProgramRef p = inline_calls(trace(last(steps))(x, w)), q = hoist_matrices(p);
    expect_same(p, q, {x.value(), w.value()});
    EXPECT_EQ(hoist_matrices(q)->hash(), q->hash());
    return inside(*q, "dot");
  };
  EXPECT_EQ(inside_of(2), 3);
  EXPECT_EQ(inside_of(100), 1);
}

TEST(HoistInvariants, WhileLoopsTakeThemBesideTheirCondition) {
  expect_hoisted(
      [](const Array& x, const Array& w) {
        return while_loop([&](const Array& c) { return c(0) < w(0, 0) + 5.0; },
                          [&](const Array& c) { return c + 1.0 + 0.0 * sum(w, 0); }, x);
      },
      "sum", 1, 0, x, w);
}

TEST(HoistInvariants, OutOfAllLoopsThatDoNotMatter) {
  const ProgramRef q = expect_hoisted(
      [](const Array& x, const Array& w) {
        return fori_loop(
            0, 2,
            [&](Array, Array c) {
              return fori_loop(0, 3, [&](Array, Array d) { return sin(d + sum(w, 1) + sum(outer(c, c), 1)); }, c);
            },
            x);
      },
      "sum", 2, 1, x, w);
  EXPECT_EQ(q->eqns().back().op, &loop_op());
}

TEST(HoistInvariants, WhatACarryMakesStays) {
  expect_hoisted([](const Array& x,
                    const Array& w) { return fori_loop(0, 4, [&](Array, Array c) { return c + sum(w * c, 1); }, x); },
                 "sum", 1, 1, x, w);
}

TEST(HoistInvariants, DearElementwiseOps) {
  expect_hoisted(
      [](const Array& x, const Array& w) {
        return fori_loop(0, 4, [&](Array, Array c) { return c + sin(exp(w(0))) * 2.0; }, x);
      },
      "sin", 1, 0, x, w);
}

TEST(HoistInvariants, CheapElementwiseOpsStay) {
  expect_hoisted(
      [](const Array& x, const Array& w) {
        return fori_loop(0, 4, [&](Array, Array c) { return sin(c + (w(0) - w(1))); }, x);
      },
      "sub", 1, 1, x, w);
}

TEST(HoistInvariants, WhatIsMuchLargerThanWhatItIsMadeOfStays) {
  const Array rows = wave({7, 1}, 0.3);
  const auto f = [&](auto of) {
    return [=](const Array& rows, const Array&) {
      return fori_loop(
          0, 4, [&](Array, Array c) { return sin(c + sum(exp(of(rows)) * c, 1)); }, zeros({7}, DType::f64));
    };
  };
  const auto pairs = [](const Array& rows) { return -square(rows - transpose(rows)); };
  expect_hoisted(f(pairs), "exp", 1, 1, rows, w);
  expect_hoisted(f([&](const Array& rows) { return pairs(rows) + dot(rows, transpose(rows)); }), "exp", 1, 0, rows, w);
}

TEST(HoistInvariants, OrdersFactorsAndLoops) {
  const auto f = [](auto of) {
    return [=](const Array& x, const Array& w) {
      return fori_loop(0, 4, [&](Array, Array c) { return sin(c + of(w)); }, x);
    };
  };
  expect_hoisted(f([](const Array& w) { return sort(w, 0)(0); }), "sort", 1, 0, x, w);
  expect_hoisted(f([](const Array& w) { return linalg::inv(w + 3.0 * eye(3, DType::f64))(1); }), "solve", 1, 0, x, w);
  const auto walk = [](const Array& w) { return fori_loop(0, 3, [&](Array, Array d) { return cos(d + w(1)); }, w(0)); };
  expect_hoisted(f(walk), "cos", 1, 1, x, w);
  EXPECT_EQ(hoist_invariants(inline_calls(trace(f(walk))(x, w)))->eqns().back().op, &loop_op());
  expect_hoisted(f([](const Array& w) { return cumsum(w, 0)(0); }), "loop", 1, 0, x,
                 w);  // whose last sum nothing reads
}

TEST(HoistInvariants, LoopsThatRunNoStep) {
  expect_hoisted(
      [](const Array& x, const Array& w) { return fori_loop(0, 0, [&](Array, Array c) { return c + sum(w, 1); }, x); },
      "sum", 1, 0, x, w);
}

TEST(HoistInvariants, InDerivativesAndLanes) {
  const auto f = [](const Array& x, const Array& w) {
    return sum(fori_loop(0, 4, [&](Array, Array c) { return sin(c * sum(w, 1)); }, x));
  };
  const auto loss = [f](const Array& x, const Array& w) {
    const auto [dx, dw] = vmap(grad<0, 1>(f), {.in_axes = {0, none}})(stack({x, x * 2.0}, 0), w);
    return sum(dx) + sum(dw * dw);
  };
  const ProgramRef p = inline_calls(trace(loss)(x, w)), q = hoist_invariants(p);
  const std::vector<Value> in{x.value(), w.value()};
  expect_same(p, q, in);
  EXPECT_LT(inside(*q, "sum"), inside(*p, "sum"));
}

// --- maps: what steps make of what they read ---

// A recurrent cell: hidden and input weights; h, then what each step gives.
Arrays cell(const Array& x, const Array& h, const Array& w, const Array& u, bool reverse = false) {
  const auto step = [&](const Array& h, const Array& x) {
    const Array next = tanh(matmul(h, w) + matmul(sin(x), u));
    return std::pair(next, next);
  };
  const auto [last, all] = scan(step, h, x, {.reverse = reverse});
  return {last, all};
}

struct Sample {
  Array x = wave({5, 2, 48}, 0.3), h = wave({2, 48}, 0.9), w = wave({48, 48}, 0.17) / 7, u = wave({48, 48}, 0.13) / 7;
  std::vector<Value> values() const { return {x.value(), h.value(), w.value(), u.value()}; }
};

ProgramRef expect_maps(const ProgramRef& p, int before, int after, const std::vector<Value>& in,
                       ProgramRef pass(const ProgramRef&) = hoist_maps) {
  const ProgramRef q = pass(p);
  EXPECT_EQ(inside(*p, "dot"), before) << p;
  EXPECT_EQ(inside(*q, "dot"), after) << q;
  EXPECT_EQ(pass(q)->hash(), q->hash());  // nothing is left to do
  const auto want = evaluate(*p, {}, in), got = evaluate(*q, {}, in);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(allclose(Array(std::get<Buffer>(got[i])), Array(std::get<Buffer>(want[i])), 1e-12, 1e-12)) << q;
  return q;
}

TEST(HoistMaps, InputsOfARecurrentCell) {
  const Sample s;
  for (const bool reverse : {false, true}) {
    const auto f = [=](const Array& x, const Array& h, const Array& w, const Array& u) {
      return cell(x, h, w, u, reverse);
    };
    expect_maps(inline_calls(trace(f)(s.x, s.h, s.w, s.u)), 2, 1, s.values());
  }
}

TEST(HoistMaps, OfMappedElementsToo) {  // vmap, and then what has been a batch is a row more of each step
  const Sample s;
  const auto f = [](const Array& x, const Array& h, const Array& w, const Array& u) {
    return vmap([&](const Array& x, const Array& h) { return cell(x, h, w, u); }, {.in_axes = {1, 0}})(x, h);
  };
  expect_maps(inline_calls(trace(f)(s.x, s.h, s.w, s.u)), 2, 1, s.values());
}

TEST(HoistMaps, Gradients) {
  const Sample s;
  const auto loss = [](const Array& x, const Array& h, const Array& w, const Array& u) {
    return sum(square(cell(x, h, w, u)[1]));
  };
  const auto f = [=](const Array& x, const Array& h, const Array& w, const Array& u) {
    const auto [dx, dw, du] = grad<0, 2, 3>(loss)(x, h, w, u);
    return Arrays{dx, dw, du};
  };
  const ProgramRef p = inline_calls(trace(f)(s.x, s.h, s.w, s.u));
  expect_maps(p, inside(*p, "dot"), inside(*p, "dot") - 1, s.values());
}

TEST(HoistMaps, StayWhereThatIsNoLess) {
  const Sample s;
  const auto stays = [&](auto f, int dots, const Array& x) {
    const ProgramRef p = inline_calls(trace(f)(x, s.u));
    expect_maps(p, dots, dots, {x.value(), s.u.value()});
  };
  stays(
      [](const Array& x, const Array& u) {  // many rows
        return scan([&](const Array& c, const Array& x) { return std::pair(c + matmul(x, u), c); },
                    zeros({9, 48}, DType::f64), x)
            .first;
      },
      1, wave({5, 9, 48}, 0.3));
  stays(
      [](const Array& x, const Array& u) {  // a small matrix
        const Array small = slice_in_dim(slice_in_dim(u, 0, 8, 0), 0, 8, 1);
        return scan([&](const Array& c, const Array& x) { return std::pair(c + matmul(x, small), c); },
                    zeros({8}, DType::f64), x)
            .first;
      },
      1, wave({5, 8}, 0.3));
  stays(
      [](const Array& x, const Array& u) {  // of what the step carries
        return scan([&](const Array& c, const Array& x) { return std::pair(matmul(c + x, u), c); },
                    zeros({48}, DType::f64), x)
            .first;
      },
      1, wave({5, 48}, 0.3));
}

TEST(HoistMaps, NoSteps) {
  const Sample s;
  const auto f = [](const Array& x, const Array& h, const Array& w, const Array& u) { return cell(x, h, w, u); };
  const Array none = zeros({0, 2, 48}, DType::f64);
  const ProgramRef p = inline_calls(trace(f)(none, s.h, s.w, s.u));
  expect_maps(p, 2, 2, {none.value(), s.h.value(), s.w.value(), s.u.value()});
}

TEST(HoistMaps, SizesThatVary) {
  const Sample s;
  const auto f = jit([&](const Array& x) { return cell(x, s.h, s.w, s.u); }, {.sizes = Sizes::symbolic});
  const auto one_by_one = [&](const Array& x) { return cell(x, s.h, s.w, s.u); };
  for (const std::int64_t steps : {1, 3, 5}) {
    const Array x = slice_in_dim(s.x, 0, steps, 0);
    EXPECT_TRUE(allclose(f(x)[1], one_by_one(x)[1], 1e-12, 1e-12));
  }
}

TEST(HoistMaps, StrictProductsStay) {
  const Sample s;
  const StrictNumerics strict;
  const auto f = [](const Array& x, const Array& h, const Array& w, const Array& u) { return cell(x, h, w, u); };
  expect_maps(inline_calls(trace(f)(s.x, s.h, s.w, s.u)), 2, 2, s.values());
}

// A recurrent cell whose outputs are its state by further weights.
Arrays outputs(const Array& x, const Array& h, const Array& w, const Array& u) {
  const auto step = [&](const Array& h, const Array& x) {
    const Array next = tanh(matmul(h, w) + x);
    return std::pair(next, matmul(next, transpose(u)));
  };
  const auto [last, all] = scan(step, h, x);
  return {last, all};
}

TEST(DelayMaps, OutputsOfARecurrentCell) {
  const Sample s;
  expect_maps(inline_calls(trace(outputs)(s.x, s.h, s.w, s.u)), 2, 1, s.values(), delay_maps);
}

TEST(DelayMaps, CotangentsOfInputs) {
  const Sample s;
  const auto loss = [](const Array& x, const Array& h, const Array& w, const Array& u) {
    return sum(square(cell(x, h, w, u)[1]));
  };
  const auto f = [=](const Array& x, const Array& h, const Array& w, const Array& u) {
    return grad<0>(loss)(x, h, w, u);
  };
  const ProgramRef p = inline_calls(trace(f)(s.x, s.h, s.w, s.u));
  expect_maps(p, inside(*p, "dot"), inside(*p, "dot") - 1, s.values(), delay_maps);
}

TEST(DelayMaps, WhatTheStepReadsToo) {  // stays
  const Sample s;
  const auto f = [](const Array& x, const Array& h, const Array& w, const Array&) {
    const auto step = [&](const Array& h, const Array& x) {
      const Array made = matmul(h, w);
      return std::pair(tanh(made + x), made);
    };
    const auto [last, all] = scan(step, h, x);
    return Arrays{last, all};
  };
  expect_maps(inline_calls(trace(f)(s.x, s.h, s.w, s.u)), 1, 1, s.values(), delay_maps);
}

TEST(DelayMaps, WhatIsStackedIsStackedOnce) {
  const Sample s;
  const auto f = [](const Array& x, const Array& h, const Array& w, const Array& u) {
    const auto step = [&](const Array& h, const Array& x) {
      const Array next = tanh(matmul(h, w) + x);
      return std::pair(next, Arrays{next, matmul(next, u), matmul(next, w)});
    };
    return scan(step, h, x).second;
  };
  const ProgramRef p = inline_calls(trace(f)(s.x, s.h, s.w, s.u));
  const ProgramRef q = expect_maps(p, 3, 1, s.values(), delay_maps);
  for (const Eqn& eqn : q->eqns())
    if (eqn.op == &loop_op()) {
      EXPECT_EQ(eqn.out.size(), 2U) << q;  // the state behind the last step, and that of all
    }
}

TEST(DelayMaps, SizesThatVary) {
  const Sample s;
  const auto f = jit([&](const Array& x) { return outputs(x, s.h, s.w, s.u); }, {.sizes = Sizes::symbolic});
  for (const std::int64_t steps : {1, 3, 5}) {
    const Array x = slice_in_dim(s.x, 0, steps, 0);
    EXPECT_TRUE(allclose(f(x)[1], outputs(x, s.h, s.w, s.u)[1], 1e-12, 1e-12));
  }
}

}  // namespace
}  // namespace tenon
