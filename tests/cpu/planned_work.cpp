// How much arithmetic plans hold: at most twice what a Program's eqns do when each is computed once, however values are
// read at other indices.
#include <gtest/gtest.h>

#include <random>
#include <unordered_set>

#include "../by_oracle.h"
#include "../fuzzing.h"
#include "tenon/compile/plan.h"
#include "tenon/ir/print.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using kernel::Expr;

// Arithmetic of floats in an expression, each node once.
std::int64_t operations(const Expr& e, std::unordered_set<const void*>& seen) {
  if (!e || e.kind() == Expr::Kind::load || !seen.insert(e.identity()).second) return 0;
  const bool computes = (e.kind() == Expr::Kind::unary || e.kind() == Expr::Kind::binary) && is_inexact(e.dtype());
  std::int64_t sum = computes ? 1 : 0;
  for (const auto& operand : e.node().operands)
    if (operand) sum += operations(Expr(operand), seen);
  return sum;
}

std::int64_t planned(const kernel::Block& block) {
  std::int64_t sum = 0;
  for (const kernel::Statement& s : block) {
    std::unordered_set<const void*> seen;
    if (const auto* nest = std::get_if<kernel::Nest>(&s.held())) {
      for (const kernel::Store& store : nest->stores)
        sum += kernel::product_of(nest->sizes).value() * operations(store.value, seen);
    } else if (const auto* reduce = std::get_if<kernel::Reduce>(&s.held())) {
      const std::int64_t each = 1 + operations(reduce->value, seen);
      sum += (kernel::product_of(reduce->outer_sizes) * kernel::product_of(reduce->inner_sizes)).value() * each;
    } else if (const auto* blocks = std::get_if<kernel::Blocks>(&s.held())) {
      sum += blocks->count.value() * planned(blocks->body) + planned(blocks->tail);
    }
  }
  return sum;
}
std::int64_t planned(const ProgramRef& program) { return planned(plan(*program).function.body); }

// What the reference evaluator does.
std::int64_t done_once(const ProgramRef& program) {
  std::int64_t sum = 0;
  for (const Eqn& eqn : program->eqns()) {
    const bool reduces = rule_of<LowerReduction>(*eqn.op) != nullptr;
    if (reduces || is_elementwise(eqn)) sum += program->type(reduces ? eqn.in[0] : eqn.out[0]).shape.elements().value();
  }
  return sum;
}

constexpr std::int64_t length = 200;

// A value of f32[length] made of others, of which the last ones are read most.
Array step(std::mt19937_64& draw, const std::vector<Array>& values, const Array& places) {
  const auto below = [&](std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(draw); };
  const auto any = [&] {
    const std::size_t back = below(2) == 0 ? 1 : 1 + below(std::min<std::size_t>(values.size(), 4));
    return values[values.size() - back];
  };
  const Array x = any();
  switch (below(8)) {
    case 0:
      return x + reverse(x, {0});
    case 1:
      return x + take(x, places);
    case 2:
      return any() + take(any(), places) * take(any(), places);
    case 3:
      return x * concatenate({slice(x, {length / 2}, {length}), slice(any(), {0}, {length / 2})}, 0);
    case 4:
      return x - mean(any());
    case 5:
      return sin(x) * reverse(any(), {0});
    case 6: {
      const Array table = reshape(x, {length / 10, 10});
      return reshape(table + reshape(sum(table, 1), {length / 10, 1}), {length});
    }
    default:
      return any() * any() + any();
  }
}

ProgramRef random_program(std::uint64_t seed, int depth) {
  const auto f = [&](Array x, Array places) {
    std::mt19937_64 draw(seed);
    std::vector<Array> values{x};
    for (int i = 0; i < depth; ++i) values.push_back(step(draw, values, places));
    return values.back();
  };
  return run_passes(compile_passes(), trace(f)(zeros({length}), zeros({length}, DType::i64)));
}

TEST(PlannedWork, FuzzIsAtMostTwiceTheEqns) {
  const std::int64_t programs = fuzzing::cases(100);
  for (std::int64_t i = 0; i < programs; ++i) {
    const std::uint64_t seed = fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i);
    const ProgramRef program = random_program(seed, 1 + static_cast<int>(seed % 60));
    EXPECT_LE(planned(program), 2 * done_once(program)) << "seed " << seed << "\n"
                                                        << print(*program) << fuzzing::repeat_with();
  }
}

// Each step reads the one before at two indices. Without what is stored in between, the last would compute 2^60 of
// them.
TEST(PlannedWork, OfStepsReadAtTwoIndicesIsLinear) {
  const auto chain = [](bool gathers) {
    return [=](Array x, Array places) {
      for (int i = 0; i < 60; ++i) x = x * 0.5 + (gathers ? take(x, places) : reverse(x, {0}));
      return x;
    };
  };
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < length; ++i) numbers.push_back(i * i % length);
  const Array x = sin(arange(length, DType::f64)), places = array<std::int64_t>(numbers, {length});
  for (const bool gathers : {false, true}) {
    const auto f = chain(gathers);
    const ProgramRef program = run_passes(compile_passes(), trace(f)(x, places));
    EXPECT_LE(planned(program), 2 * done_once(program)) << gathers;
    const Array native = jit(f)(x, places);
    const ByOracle oracle;
    EXPECT_TRUE(allclose(native, f(x, places), 1e-12)) << gathers;
  }
}

// Arithmetic of one element of the nest that has most.
std::int64_t largest_body(const ProgramRef& program) {
  std::int64_t largest = 0;
  for (const kernel::Statement& s : plan(*program).function.body) {
    std::unordered_set<const void*> seen;
    std::int64_t sum = 0;
    if (const auto* nest = std::get_if<kernel::Nest>(&s.held()))
      for (const kernel::Store& store : nest->stores) sum += operations(store.value, seen);
    largest = std::max(largest, sum);
  }
  return largest;
}

// Eight values that depend on each other all along: expressions far shorter than their nest is large.
Array of_eight(const Array& x, int steps) {
  std::vector<Array> v;
  for (int i = 0; i < 8; ++i) v.push_back(x * (1 + 0.1 * i));
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < 8; ++i) v[i] = v[i] * 0.9 + (i % 4 == 0 ? sin(v[(i + 1) % 8]) : v[(i + 3) % 8] * 0.1);
  Array sum = v[0];
  for (std::size_t i = 1; i < 8; ++i) sum = sum + v[i];
  return sum;
}

TEST(PlannedWork, BodiesAreBounded) {
  for (const Shape& shape : {Shape{}, Shape{50}}) {
    const auto f = [](const Array& x) { return of_eight(x, 300); };
    const auto g = grad([&](const Array& x) { return sum(f(x)); });
    const Array x = full(shape, 0.3);
    for (const ProgramRef& program : {trace(f)(x), trace(g)(x)}) {
      const ProgramRef compiled = run_passes(compile_passes(), program);
      EXPECT_LE(planned(compiled), 2 * done_once(compiled));
      EXPECT_LE(largest_body(compiled), 2000) << "of " << done_once(compiled);
    }
    const Array native = jit(f)(x), native_gradient = jit(g)(x);
    const ByOracle oracle;
    EXPECT_TRUE(allclose(native, f(x), 1e-9));
    EXPECT_TRUE(allclose(native_gradient, g(x), 1e-9));
  }
}

TEST(PlannedWork, TextIsAsLongAsTheGraph) {
  const auto f = [](Array x) {
    for (int i = 0; i < 60; ++i) x = sin(x) * x;  // 2^60 nodes as a tree
    return x;
  };
  const ProgramRef program = run_passes(compile_passes(), trace(f)(full({50}, 0.3)));
  EXPECT_LT(kernel::print(plan(*program).function).size(), 5000U);
}

}  // namespace
}  // namespace tenon
