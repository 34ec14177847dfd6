// What each step of a loop would compute alike is computed before it, once.
#include "tenon/rewrite/hoist_invariants.h"

#include <gtest/gtest.h>

#include "tenon/ir/print.h"
#include "tenon/ops/region.h"
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

TEST(HoistInvariants, ElementwiseOpsStay) {
  expect_hoisted(
      [](const Array& x, const Array& w) { return fori_loop(0, 4, [&](Array, Array c) { return c + sin(w(0)); }, x); },
      "sin", 1, 1, x, w);
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

}  // namespace
}  // namespace tenon
