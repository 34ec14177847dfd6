// What warmed calls allocate: their results, and into() nothing. This program counts every call of operator new.
#include <gtest/gtest.h>

#include "tenon/runtime/memory/allocator.h"
#include "tenon/tenon.h"
#include "tests/calls/counting_new.h"

namespace tn = tenon;
using tn::Array;

namespace {

struct Joint {
  Array angle, velocity;
};
struct Arm {
  std::array<Joint, 7> joints;
  double dt = 0.01;
};
Arm moved(const Arm& arm) {
  Arm next = arm;
  for (Joint& j : next.joints) j.angle = j.angle + j.velocity * arm.dt;
  return next;
}
Arm example(int n) {
  Arm arm;
  for (Joint& j : arm.joints) j = {tn::zeros({n}) + 0.5f, tn::ones({n}) + 0.f};
  return arm;
}

// How often operator new is called by f, once f has run before.
template <class F>
std::size_t news_of(F f) {
  for (int i = 0; i < 3; ++i) f();
  const std::size_t before = counted_news;
  f();
  return counted_news - before;
}

}  // namespace

TEST(Allocations, TheCountCounts) {
  EXPECT_EQ(news_of([] {
              auto v = std::make_unique<std::vector<int>>(3);
              EXPECT_EQ(v->size(), 3u);
            }),
            2u);
}

// Arrays come from the allocator of buffers, one block each: a call has no use for the heap.
TEST(Allocations, OfACall) {
  const Array x = tn::arange(8, tn::DType::f32);
  const auto next = tn::jit([](const Array& v) { return v + 1.f; });
  EXPECT_EQ(news_of([&] { auto r = next(x); }), 0u);
  const Array many = tn::sin(tn::arange(3000, tn::DType::f64));
  const auto in_order =
      tn::jit([](const Array& v) { return std::array{tn::sort(v), tn::argsort(v), tn::top_k(v, 5).values}; });
  EXPECT_EQ(news_of([&] { auto r = in_order(many); }), 0u);
  const Arm arm = example(8);
  const auto move = tn::jit(moved);
  EXPECT_EQ(news_of([&] { auto r = move(arm); }), 0u);
  // The vector that is returned is a result.
  const std::vector<Array> tree(100, x);
  const auto all = tn::jit([](std::vector<Array> t) {
    for (Array& a : t) a = a + 1.f;
    return t;
  });
  EXPECT_EQ(news_of([&] { auto r = all(tree); }), 1u);
}

TEST(Allocations, OfInto) {
  for (const int n : {1, 8, 1000, 100000}) {
    const Arm arm = example(n);
    const auto prepared = tn::jit(moved).prepare(arm);
    Arm result;
    prepared.into(result, arm);
    const std::size_t live = tn::memory_statistics().live_bytes;
    EXPECT_EQ(news_of([&] { prepared.into(result, arm); }), 0u);
    EXPECT_EQ(tn::memory_statistics().live_bytes, live);
    EXPECT_FLOAT_EQ(result.joints[6].angle.span<float>()[0], 0.51f);
  }
}

// user-code.md 2: a batch of Jacobians, with intermediate values in an arena.
TEST(Allocations, OfABatchOfJacobians) {
  const auto tip = [](const Array& angles) {
    const Array sums =
        tn::matmul(angles, tn::reshape(tn::convert(tn::arange(49, tn::DType::i32) % 8 < 4, tn::DType::f32), {7, 7}));
    return tn::stack({tn::sum(tn::cos(sums)), tn::sum(tn::sin(sums))});
  };
  const Array batch = tn::reshape(tn::arange(32 * 7, tn::DType::f32), {32, 7}) * 0.01f;
  const auto jacobians = tn::jit(tn::vmap(tn::jacfwd(tip))).prepare(batch);
  Array result;
  EXPECT_EQ(news_of([&] { jacobians.into(result, batch); }), 0u);
  EXPECT_EQ(result.shape(), tn::Shape({32, 2, 7}));
}

TEST(Allocations, OfDonatedArguments) {
  const auto step = tn::jit([](const Array& p, const Array& g) { return p - 0.1f * g; }, {.donate = {0}});
  Array p = tn::ones({1000}) + 0.f;
  const Array g = tn::ones({1000}) + 0.f;
  p = step(p, g);
  const std::size_t live = tn::memory_statistics().live_bytes;
  EXPECT_EQ(news_of([&] { p = step(p, g); }), 0u);
  EXPECT_EQ(tn::memory_statistics().live_bytes, live);
}
