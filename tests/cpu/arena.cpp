// Temporaries share memory where they do not live at once.
#include "tenon/kernel/passes/arena.h"

#include <gtest/gtest.h>

#include <random>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

TEST(Arena, AChainOfProductsNeedsTwoTemporaries) {
  const Array w = zeros({128, 128});
  const auto chain = [](Array x, const Array& by) {
    for (int i = 0; i < 10; ++i) x = matmul(x, by);
    return x;
  };
  const auto function = plan(*run_passes(compile_passes(), trace(chain)(w, w))).function;
  constexpr std::int64_t each = 128 * 128 * 4;
  EXPECT_GE(function.arena_bytes.value(), 2 * each);
  EXPECT_LE(function.arena_bytes.value(), 2 * each + 1024);
}

TEST(Arena, WhatLivesAtOnceIsApart) {
  const auto many = [](const Array& x) {
    std::vector<Array> products;
    for (int i = 0; i < 6; ++i) products.push_back(matmul(x, x + static_cast<float>(i)));
    Array sum = products[0];
    for (int i = 1; i < 6; ++i) sum = matmul(sum, products[static_cast<std::size_t>(i)]);
    return sum;
  };
  const Array x = eye(70, DType::f32) * 2.f;
  // (2I)(2I + i J) products in order, evaluated one op at a time as well.
  EXPECT_TRUE(allclose(jit(many)(x), many(x), 1e-4));
}

// Slots of many sizes and lives, more than are placed largest first: no two that live at once overlap, and the arena is
// not much larger than what does.
TEST(Arena, OfManySlotsIsSharedToo) {
  kernel::Function f;
  constexpr std::size_t slots = 3000;
  std::mt19937_64 draw(5);
  const auto below = [&](std::uint64_t n) { return draw() % n; };
  for (std::size_t i = 0; i < slots; ++i)
    f.slots.push_back({DType::f64, static_cast<std::int64_t>(1 + below(1000)), kernel::Slot::Place::arena});
  std::vector<std::vector<kernel::SlotId>> at(2 * slots);
  std::vector<std::size_t> last(slots);
  for (kernel::SlotId i = 0; i < slots; ++i) at[i].push_back(i), at[last[i] = i + below(50)].push_back(i);
  for (const auto& touched : at) {
    kernel::Nest nest;
    for (const kernel::SlotId slot : touched)
      nest.stores.push_back(
          {slot, kernel::Expr(std::int64_t(0)), kernel::constant_like(kernel::load(slot, DType::f64, 0), 1), {}});
    f.body.push_back(std::move(nest));
  }
  lay_out_arena(f);
  const auto bytes = [&](std::size_t i) { return 8 * f.slots[i].elements.value(); };
  std::int64_t most = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    std::int64_t together = 0;
    for (std::size_t k = i < 50 ? 0 : i - 50; k <= i; ++k) {
      if (last[k] < i) continue;
      together += bytes(k) + 64;
      const std::int64_t x = f.slots[i].arena_offset.value(), y = f.slots[k].arena_offset.value();
      EXPECT_TRUE(k == i || x + bytes(i) <= y || y + bytes(k) <= x) << i << " " << k;
    }
    most = std::max(most, together);
  }
  EXPECT_LE(f.arena_bytes.value(), most * 3 / 2);
}

// Small arrays are registers; of very many, most are not, or they would not fit a stack.
TEST(Arena, LocalSlotsFitAStack) {
  const auto local_bytes = [](const auto& f, const auto&... args) {
    const auto function = plan(*run_passes(compile_passes(), trace(f)(args...))).function;
    std::int64_t bytes = 0;
    for (const kernel::Slot& s : function.slots)
      if (s.place == kernel::Slot::Place::local) bytes += 64 * ((s.elements.value() * 4 + 63) / 64);
    return bytes;
  };
  const auto steps = [](Array h, const Array& w) {
    for (int i = 0; i < 3000; ++i) h = tanh(matmul(w, h));
    return h;
  };
  EXPECT_LE(local_bytes(steps, zeros({8}), zeros({8, 8})), 64 << 10);
  const auto loops = [](Array h, const Array& w) {
    for (int i = 0; i < 200; ++i)
      h = fori_loop(0, 3, [&](const Array&, const Array& h) { return tanh(matmul(w, h)); }, h);
    return h;
  };
  EXPECT_GT(local_bytes(loops, zeros({8}), zeros({8, 8})), 0);
  EXPECT_LE(local_bytes(loops, zeros({64}), zeros({64, 64})), 600 << 10);
  const Array h = iota(DType::f32, {8}, 0), w = eye(8, DType::f32) * 0.99f;
  EXPECT_TRUE(allclose(jit(steps)(h, w), steps(h, w), 1e-4));
  EXPECT_TRUE(allclose(jit(loops)(h, w), loops(h, w), 1e-4));
}

}  // namespace
}  // namespace tenon
