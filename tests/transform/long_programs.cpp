// Programs of more eqns than a thread's stack has frames for: nothing recurs over eqns.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/transform/gradient.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

ProgramRef chain(int eqns, FunctionRef<Array(const Array&)> step) {
  Scope scope;
  Array x = scope.input(Type::array(DType::f64, {}));
  for (int i = 0; i < eqns; ++i) x = step(x);
  return scope.finish(Arrays{x}).program;
}

Value number(double x) {
  Buffer b = Buffer::allocate(DType::f64, {});
  *b.as<double>() = x;
  return b;
}
double result_at(const ProgramRef& program, double x) {
  const std::vector<Value> in{number(x)}, out = compile(program)->run(in);
  return *std::get<Buffer>(out[0]).as<double>();
}

TEST(LongPrograms, AreTransformed) {
  const ProgramRef sines = chain(80'000, [](const Array& x) { return sin(x); });
  EXPECT_EQ(gradient(sines, {true})->output_types()[0].text(), "f64[]");
}

TEST(LongPrograms, AreCompiled) {
  const ProgramRef sums = chain(20'000, [](const Array& x) { return x + 1.0; });
  EXPECT_EQ(result_at(sums, 0.5), 20'000.5);
}

// The sum reads the last of 50 values that are stored since their expressions are long, each made of the one before.
TEST(LongPrograms, AreCompiledWithASumBehindThem) {
  Scope scope;
  const Array x = scope.input(Type::array(DType::f64, {}));
  Array y = broadcast_in_dim(x, Shape({3}), {});
  for (int i = 0; i < 20'000; ++i) y = y + 1.0;
  const ProgramRef sums = scope.finish(Arrays{sum(y)}).program;
  EXPECT_EQ(result_at(sums, 0.5), 3 * 20'000.5);
}

TEST(LongPrograms, TheirDerivativesAreCompiled) {
  constexpr int steps = 500;
  const ProgramRef damped = chain(steps, [](const Array& x) { return sin(x) * 0.5 + x * 0.5; });
  double x = 1, slope = 1;
  for (int i = 0; i < steps; ++i) {
    slope *= 0.5 * std::cos(x) + 0.5;
    x = std::sin(x) * 0.5 + x * 0.5;
  }
  EXPECT_NEAR(result_at(gradient(damped, {true}), 1), slope, 1e-9 * std::abs(slope));
}

// Which of many comparisons reverse mode must keep is asked of each.
TEST(LongPrograms, OfManyComparisons) {
  constexpr int steps = 5'000;
  Scope scope;
  const Array xs = scope.input(Type::array(DType::f64, {Dim(3)})), x = sin(xs);
  Array kept = xs, sums = zeros({3}, DType::f64);
  for (int i = 0; i < steps; ++i) {
    kept = sort(kept);
    sums = sums + where(x < kept, x * 2.0, x);
  }
  const ProgramRef p = scope.finish(Arrays{sum(sums, 0)}).program;
  EXPECT_EQ(gradient(p, {true})->output_types()[0].text(), "f64[3]");
}

// Each nest is stored with those of its group.
TEST(LongPrograms, OfManyNests) {
  constexpr int steps = 10'000;
  Scope scope;
  Array x = scope.input(Type::array(DType::f64, {Dim(3)}));
  for (int i = 0; i < steps; ++i) x = x * 0.5 + sum(x) * (1.0 / 6);
  const ProgramRef p = scope.finish(Arrays{sum(x)}).program;
  EXPECT_GE(plan(*p).function.body.size(), steps);
}

// What each call of a function nested in itself says is found once.
TEST(LongPrograms, OfSharedCalls) {
  ProgramRef p = chain(1, [](const Array& x) { return sin(x); });
  for (int i = 0; i < 40; ++i) {
    Scope scope;
    const Array x = scope.input(Type::array(DType::f64, {}));
    p = scope.finish(call(p, call(p, Arrays{x}))).program;
  }
  EXPECT_EQ(find_eqn(*p, [](const Eqn& eqn) { return eqn.op->name == "cos"; }), nullptr);
  EXPECT_EQ(jvp(p, {true}, {true})->output_types().size(), 2);
}

}  // namespace
}  // namespace tenon
