// Chains of one tangent are one product with a known coefficient, and nothing else changes.
#include "tenon/transform/coefficients.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/eval/evaluate.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

const Type vector = Type::array(DType::f64, {Dim(4)});
using Function = std::function<Array(const Array&, const Array&)>;

ProgramRef trace(const Function& f) {
  Scope scope;
  const Array known = scope.input(vector), unknown = scope.input(vector);
  return scope.finish(Arrays{f(known, unknown)}).program;
}

std::size_t count(const Program& program, std::string_view op) {
  std::size_t n = 0;
  for (const Eqn& eqn : program.eqns()) n += eqn.op->name == op;
  return n;
}

// The operations that are left for an unknown operand.
std::size_t on_unknown(const Program& program) {
  std::vector<bool> unknown(program.vars(), false);
  unknown[program.inputs()[1]] = true;
  std::size_t n = 0;
  for (const Eqn& eqn : program.eqns())
    for (Var v : eqn.in)
      if (unknown[v]) {
        unknown[eqn.out[0]] = true;
        ++n;
        break;
      }
  return n;
}

Value sample(double from) {
  Buffer b = Buffer::allocate(DType::f64, {4});
  const double values[] = {from, -1.5, 2.25, 0.5};
  std::copy(std::begin(values), std::end(values), b.as<double>());
  return b;
}

void expect_same(const Function& f, std::size_t left) {
  const ProgramRef before = trace(f), after = collect_coefficients(before, {true, false});
  EXPECT_EQ(on_unknown(*after), left);
  const std::vector<Value> in{sample(0.75), sample(3)};
  const auto was = evaluate(*before, {}, in), is = evaluate(*after, {}, in);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(std::get<Buffer>(is[0]).as<double>()[i], std::get<Buffer>(was[0]).as<double>()[i], 1e-12);
}

TEST(Coefficients, SumsOfMultiplesOfOneTangent) {
  expect_same([](const Array& a, const Array& d) { return d * 0.9 - 0.01 * d * a - 0.01 * a * d; }, 1);
  expect_same([](const Array& a, const Array& d) { return -(a * -d) + d; }, 1);
}

TEST(Coefficients, ChainsOfProducts) {
  expect_same(
      [](const Array& a, const Array& d) {
        Array t = d;
        for (int i = 0; i < 10; ++i) t = t * a * 0.5;
        return t;
      },
      1);
}

TEST(Coefficients, OtherOpsEndAChain) {
  expect_same([](const Array& a, const Array& d) { return reverse(d * a * a, {0}) * a * a; }, 3);
}

// Each link doubles the number of those below it: 2^100 of them.
TEST(Coefficients, LinksThatDouble) {
  expect_same(
      [](const Array& a, const Array& d) {
        Array t = d;
        for (int i = 0; i < 100; ++i) t = (t * 0.5 + t * 0.5) * (i % 2 == 0 ? a : 1.0 / a);
        return t;
      },
      1);
}

TEST(Coefficients, NothingGainedIsTheSameProgram) {
  const ProgramRef p = trace([](const Array& a, const Array& d) { return reverse(d * a, {0}); });
  EXPECT_EQ(collect_coefficients(p, {true, false}), p);
  const ProgramRef other = trace([](const Array& a, const Array& d) { return d * d + a; });  // not linear: untouched
  EXPECT_EQ(collect_coefficients(other, {true, false}), other);
}

TEST(Coefficients, ALoopKeepsTheSlopeOfAStep) {
  // Residuals of v <- f(f(f(v))): one, its derivative.
  Scope scope;
  const Array v = scope.input(vector);
  Array next = v;
  for (int i = 0; i < 3; ++i) next = next * 0.9 - 0.01 * next * next;
  // As a loop asks of its body: the carry is not kept anyway.
  const ProgramRef both = jvp(scope.finish(Arrays{next}).program, {true}, {true});
  const Partitioned parts =
      partition(both, {.known_in = {true, false}, .known_out = {true, false}, .free_in = {false, false}});
  EXPECT_EQ(parts.residuals.size(), 1u);
  EXPECT_EQ(count(*parts.second, "mul"), 1u);
  EXPECT_EQ(parts.second->eqns().size(), 1u);
}

}  // namespace
}  // namespace tenon
