// Temporaries share memory where they do not live at once.
#include <gtest/gtest.h>

#include "tenon/compile/plan.h"
#include "tenon/rewrite/pass.h"
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
  EXPECT_GE(function.arena_bytes, 2 * each);
  EXPECT_LE(function.arena_bytes, 2 * each + 1024);
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

}  // namespace
}  // namespace tenon
