// How much arithmetic plans hold: at most twice what a Program's eqns do when each is computed once, however values are
// read at other indices.
#include <gtest/gtest.h>

#include <random>
#include <unordered_set>

#include "../by_oracle.h"
#include "../fuzzing.h"
#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/ir/print.h"
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

// With sizes that are found as large as they may be.
std::int64_t planned(const kernel::Function& function, const kernel::Block& block) {
  const auto number = [&](const Dim& size) { return kernel::bound_of(function, size).value(); };
  std::int64_t sum = 0;
  for (const kernel::Statement& s : block) {
    std::unordered_set<const void*> seen;
    if (const auto* nest = std::get_if<kernel::Nest>(&s.held())) {
      for (const kernel::Store& store : nest->stores)
        sum += number(kernel::product_of(nest->sizes)) * operations(store.value, seen);
    } else if (const auto* reduce = std::get_if<kernel::Reduce>(&s.held())) {
      std::int64_t each = 0;
      for (const kernel::Reduce::Result& result : reduce->results()) each += 1 + operations(result.value, seen);
      sum += number(kernel::product_of(reduce->outer_sizes) * kernel::product_of(reduce->inner_sizes)) * each;
    } else if (const auto* blocks = std::get_if<kernel::Blocks>(&s.held())) {
      sum += number(blocks->count) * planned(function, blocks->body) + planned(function, blocks->tail);
    }
  }
  return sum;
}
std::int64_t planned(const ProgramRef& program) {
  const kernel::Function function = plan(*program).function;
  return planned(function, function.body);
}

// What the reference evaluator does.
std::int64_t done_once(const ProgramRef& program) {
  std::int64_t sum = 0;
  for (const Eqn& eqn : program->eqns()) {
    const bool reduces = rule_of<LowerReduction>(*eqn.op) != nullptr;
    if (reduces || is_elementwise(eqn)) sum += program->type(reduces ? eqn.in[0] : eqn.out[0]).shape.elements().value();
  }
  return sum;
}

// Values of one length made of others, of which the last ones are read most.
class Steps {
 public:
  Steps(std::uint64_t seed, const Array& x, const Array& places, const Array& many, const Array& start)
      : draw_(seed), length_(x.shape()[0].value()), places_(places), many_(many), start_(start), values_{x} {}
  Array after(int steps) {
    for (int i = 0; i < steps; ++i)
      values_.push_back(below(2) == 0 ? moved() : below(3) == 0 ? summed() : read_twice());
    return values_.back();
  }

 private:
  std::int64_t below(std::int64_t limit) { return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(draw_); }
  Array any() {
    const std::int64_t back = below(2) == 0 ? 1 : 1 + below(std::min<std::int64_t>(std::ssize(values_), 4));
    return values_[values_.size() - static_cast<std::size_t>(back)];
  }
  Array table(const Array& x) const { return reshape(x, {length_ / 10, 10}); }
  Array flat(const Array& x) const { return reshape(x, {length_}); }
  Array costly(const Array& x) { return below(2) == 0 ? sin(x) : x * 0.5f; }

  Array read_twice() {
    const Array x = any();
    switch (below(7)) {
      case 0:
        return x + reverse(x, {0});
      case 1:
        return x + take(x, places_);
      case 2:
        return any() + take(any(), places_) * take(any(), places_);
      case 3:
        return sin(x) * reverse(any(), {0});
      case 4:  // by two eqns of the same map
        return take(x * 0.5f, places_) * take(x + 1.f, places_);
      case 5:
        return reverse(x * 0.5f, {0}) - reverse(x + 1.f, {0});
      default:
        return any() * any() + any();
    }
  }
  Array summed() {
    const Array x = any();
    switch (below(8)) {
      case 0:
        return x - mean(any());
      case 1:
        return flat(table(x) + reshape(sum(table(x), 1), {length_ / 10, 1}));
      case 2:  // a gather of ten times as many
        return x + sum(reshape(take(costly(x), many_), {length_, 10}), 1);
      case 3:  // windows
        return x + sum(take(costly(x), reshape(arange(length_), {length_, 1}) + arange(10)), 1);
      case 4:  // of what is broadcast
        return x + sum(broadcast_in_dim(costly(x), {length_, 8}, {0}) * broadcast_in_dim(any(), {length_, 8}, {0}), 1);
      case 5:
        return x * sum(pad(costly(x), 0.f, {0}, {0}, {3}));
      case 6:
        return x + sum(concatenate({reverse(costly(x), {0}), any()}, 0));
      default:
        return x + flat(broadcast_in_dim(sum(costly(table(x)), 0), {length_ / 10, 10}, {1}));
    }
  }
  Array moved() {
    const Array x = any();
    const std::int64_t at = 1 + below(length_ - 1);
    switch (below(9)) {
      case 0:
        return x * concatenate({slice(x, {length_ / 2}, {length_}), slice(any(), {0}, {length_ / 2})}, 0);
      case 1: {  // between zeros
        const std::int64_t between = below(4), n = (length_ - 1) / (between + 1) + 1;
        const std::int64_t rest = length_ - (n - 1) * (between + 1) - 1;
        return any() + pad(slice(costly(x), {0}, {n}), 0.f, {0}, {rest}, {between});
      }
      case 2:  // cut off on one side
        return any() + pad(costly(x), 0.f, {-at}, {at});
      case 3:
        return any() + pad(slice(costly(x), {at}, {length_}), 0.f, {at}, {0});
      case 4: {
        const Array turned = transpose(reshape(costly(x), {10, length_ / 10}));
        return any() + flat(turned);
      }
      case 5:
        return where(arange(length_) % 3 == 1, costly(x), reverse(any(), {0}));
      case 6:
        return any() + concatenate({reverse(slice(costly(x), {at}, {length_}), {0}), slice(x, {0}, {at})}, 0);
      case 7:
        return any() * pad(dynamic_slice(costly(x), {{start_}}, {length_ / 2}), 1.f, {length_ / 4}, {length_ / 4});
      default:
        return flat(table(x) + broadcast_in_dim(slice(costly(any()), {0}, {10}), {length_ / 10, 10}, {1}));
    }
  }

  std::mt19937_64 draw_;
  const std::int64_t length_;
  Array places_, many_, start_;
  std::vector<Array> values_;
};

constexpr std::int64_t in_cache = 200, in_memory = 400'000;  // elements; of the latter, more is computed again

ProgramRef random_program(std::uint64_t seed, int depth, std::int64_t length) {
  return trace([=](const Array& x, const Array& places, const Array& many, const Array& start) {
    return Steps(seed, x, places, many, start).after(depth);
  })(zeros({length}), zeros({length}, DType::i64), zeros({10 * length}, DType::i64), zeros({}, DType::i64));
}

TEST(PlannedWork, FuzzIsAtMostTwiceTheEqns) {
  const std::int64_t programs = fuzzing::cases(100);
  for (std::int64_t i = 0; i < programs; ++i) {
    const std::uint64_t seed = fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i);
    const int depth = 1 + static_cast<int>(seed % 60);
    const ProgramRef program =
        run_passes(compile_passes(), random_program(seed, depth, seed % 3 == 0 ? in_memory : in_cache));
    EXPECT_LE(planned(program), 2 * done_once(program)) << "seed " << seed << "\n"
                                                        << print(*program) << fuzzing::repeat_with();
  }
}

TEST(PlannedWork, FuzzOfWhatIsComputedOnceIsTheSame) {
  const std::int64_t programs = fuzzing::cases(30);
  std::vector<std::int64_t> places, many;
  for (std::int64_t i = 0; i < in_cache; ++i) places.push_back(i * i % in_cache);
  for (std::int64_t i = 0; i < 10 * in_cache; ++i) many.push_back(i * 7 % in_cache);
  const Array x = sin(arange(in_cache, DType::f32)), at = array<std::int64_t>(places, {in_cache}),
              often = array<std::int64_t>(many, {10 * in_cache}), start(std::int64_t(17));
  for (std::int64_t i = 0; i < programs; ++i) {
    const std::uint64_t seed = fuzzing::seed() * 2'000'003 + static_cast<std::uint64_t>(i);
    const auto f = [=](const Array& x, const Array& at, const Array& often, const Array& start) {
      return tanh(Steps(seed, x, at, often, start).after(1 + static_cast<int>(seed % 5)));
    };
    const Array native = jit(f)(x, at, often, start);
    const ByOracle oracle;
    EXPECT_TRUE(allclose(native, f(x, at, often, start), 1e-3, 1e-3)) << "seed " << seed << fuzzing::repeat_with();
  }
}

// Cheap values that many nests read, or one at many indices: none is worth storing by itself.
TEST(PlannedWork, OfCheapValuesIsBounded) {
  const auto cheap = [](const Array& x) { return x * x + x; };
  const auto sums = [=](const Array& x) {
    const std::int64_t n = x.shape()[0].value();
    const Array y = cheap(x);
    Array all = zeros({});
    for (std::int64_t k = 1; k < 10; ++k) all = all + sum(slice(y, {k}, {n}));
    return all;
  };
  const auto spread = [=](const Array& x) { return pad(cheap(x), 0.f, {0}, {9}, {9}); };
  const auto stencil = [=](const Array& x) {
    const std::int64_t n = x.shape()[0].value();
    const Array y = cheap(x) + x * x * x;
    Array all = zeros({n});
    for (const std::int64_t k : {1, 3, 7, 9}) all = all + take(y, arange(n) * Array(k) % Array(n));
    return all;
  };
  for (const std::int64_t n : {in_cache, in_memory}) {
    const Array x = zeros({n});
    for (const ProgramRef& program :
         {ProgramRef(trace(sums)(x)), ProgramRef(trace(spread)(x)), ProgramRef(trace(stencil)(x))}) {
      const ProgramRef compiled = run_passes(compile_passes(), program);
      EXPECT_LE(planned(compiled), 2 * done_once(compiled)) << print(*compiled);
    }
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
  constexpr std::int64_t length = 200;
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
    if (fuzzing::is_repetition() && shape.rank() == 0) continue;
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

// What blocks of rows do is written once for all of them where it is long; where it is short, once more for the last.
TEST(PlannedWork, LongBlocksAreWrittenOnce) {
  const auto text = [](int many) {
    const auto f = [&](Array x) {
      const Array start = x;
      for (int i = 0; i < many; ++i) x = sin(x) * start + cos(x * 0.5);
      return x;
    };
    return kernel::print(plan(*run_passes(compile_passes(), trace(f)(full({100'003}, 0.3)))).function);
  };
  EXPECT_THAT(text(2), testing::AllOf(testing::HasSubstr("blocks"), testing::HasSubstr("then")));
  EXPECT_THAT(text(80), testing::AllOf(testing::HasSubstr("blocks"), testing::Not(testing::HasSubstr("then"))));
  const auto f = [](const Array& x) { return compress(sin(x) * 2.0, x > 0.5) * 3.0; };
  const auto chosen = [&](std::int64_t size) {
    return kernel::print(plan(*run_passes(compile_passes(), trace(f)(full({size}, 0.3)))).function);
  };
  // Data choose the number of rows, and they are never more than there are.
  EXPECT_THAT(chosen(1'000'000), testing::HasSubstr("blocks"));
  EXPECT_THAT(chosen(100), testing::Not(testing::HasSubstr("blocks")));
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
