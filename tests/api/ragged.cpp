// Products by groups: beside a product for each row, of all dtypes, of sizes that vary, under transformations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"
#include "tenon/tenon.h"

namespace of_ragged_products {
namespace {

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;
using tn::DType;

Array drawn(const tn::Shape& shape, DType dtype, double seed) {
  const Array x = tn::sin(tn::convert(tn::arange(shape.elements()), DType::f64) * (1.7 + seed) + seed);
  return tn::reshape(tn::convert(tn::is_inexact(dtype) ? x : tn::round(x * 3.0), dtype), shape);
}
// Each row times the matrix of its group, in the dtype of the result.
Array row_by_row(const Array& lhs, const Array& rhs, const Array& sizes, DType dtype) {
  const Array ends = tn::cumsum(tn::convert(sizes, DType::i64)), rows = tn::arange(lhs.dim(0), DType::i64);
  const Array group = tn::searchsorted(ends, rows, tn::Side::right);
  const Array matrices =
      tn::take(tn::convert(rhs, dtype), group, 0, {.mode = tn::IndexMode::fill, .fill = tn::Scalar::zero(dtype)});
  return tn::einsum("mk,mkn->mn", tn::convert(lhs, dtype), matrices);
}

// In blocks of rows, and where all rows meet all groups.
TEST(RaggedDot, WhatIsNoNumberStaysInItsGroup) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::int64_t rows : {4, 100}) {
    SCOPED_TRACE(rows);
    const Array sizes{1, 2, 0, static_cast<int>(rows) - 3}, number = tn::arange(rows);
    const auto marked = [&](double x) { return tn::expand_dims(tn::where((number == 1) | (number == 2), x, 1.0), 1); };
    const Array matrices = tn::reshape(Array{1.0, inf, inf, 1.0}, {4, 1, 1});
    const Array by_rows = tn::ragged_dot(marked(2.0), matrices, sizes);
    EXPECT_TRUE(tn::all(by_rows == marked(inf)).item<bool>());
    for (const auto& [x, y] : {std::pair(inf, 1.0), std::pair(1.0, inf)}) {
      const Array sums = tn::ragged_dot_general(tn::transpose(marked(x)), marked(y), sizes, {{1}, {0}, {}, {}}, 1);
      EXPECT_TRUE(tn::all(tn::reshape(sums, {-1}) == Array{1.0, inf, 0.0, static_cast<double>(rows) - 3}).item<bool>());
    }
  }
}

TEST(RaggedDot, OfAllDTypes) {
  const Array sizes{20, 0, 33, 40};
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::c64, DType::c128, DType::i8,
                            DType::u8, DType::i32, DType::i64, DType::u16}) {
    SCOPED_TRACE(tn::name(dtype));
    for (const std::int64_t rows : {0, 1, 15, 100}) {
      const Array lhs = drawn({rows, 6}, dtype, 0.3), rhs = drawn({4, 6, 5}, dtype, 0.7);
      const bool small = dtype == DType::bf16 || dtype == DType::f16;
      const DType sum = small ? DType::f32 : dtype;
      const Array wanted = row_by_row(lhs, rhs, sizes, sum);
      const auto f = [&](Array x, Array y) { return tn::ragged_dot(x, y, sizes, sum); };
      for (const Array& got : {f(lhs, rhs), Array(tn::jit(f)(lhs, rhs))}) {
        EXPECT_EQ(got.dtype(), sum);
        EXPECT_TRUE(tn::all(tn::abs(tn::convert(got - wanted, DType::c128)) <= 1e-5).item<bool>());
      }
      EXPECT_EQ(tn::ragged_dot(lhs, rhs, sizes).dtype(), dtype);
    }
  }
}

TEST(RaggedDot, OfSizesThatVary) {
  const auto f = tn::jit([](Array x, Array y, Array sizes) { return tn::ragged_dot(x, y, sizes); },
                         {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t rows : {4, 50, 90}) {
    const Array lhs = drawn({rows, 3}, DType::f64, 0.1), rhs = drawn({3, 3, 2}, DType::f64, 0.2), sizes{3, 20, 40};
    EXPECT_TRUE(tn::allclose(f(lhs, rhs, sizes), row_by_row(lhs, rhs, sizes, DType::f64)));
  }
}

TEST(RaggedDot, DerivativesAreThoseOfProductsOfRows) {
  const Array lhs = drawn({70, 4}, DType::f64, 0.4), rhs = drawn({3, 4, 2}, DType::f64, 0.6), sizes{30, 5, 31};
  const auto loss = [&](Array x, Array y) { return tn::sum(tn::sin(tn::ragged_dot(x, y, sizes))); };
  const auto wanted = [&](Array x, Array y) { return tn::sum(tn::sin(row_by_row(x, y, sizes, DType::f64))); };
  EXPECT_TRUE(tn::allclose(tn::grad(loss)(lhs, rhs), tn::grad(wanted)(lhs, rhs)));
  const auto of_matrices = [&](auto f) {
    return tn::grad([&, f](Array y) { return tn::sum(tn::grad([&](Array z) { return f(lhs, z); })(y) * y * y); })(rhs);
  };
  EXPECT_TRUE(tn::allclose(of_matrices(loss), of_matrices(wanted)));
}

TEST(RaggedDot, WhatDoesNotFitIsRefused) {
  const Array lhs = tn::ones({20, 3}), rhs = tn::ones({2, 3, 4}), sizes{4, 6};
  const auto message = [](auto f) { return tn::message_of(f); };
  EXPECT_THAT(message([&] { return tn::ragged_dot(lhs, rhs, Array{1, 2, 3}); }),
              HasSubstr("group sizes [3], and not [2]"));
  EXPECT_THAT(message([&] { return tn::ragged_dot(lhs, rhs, Array{1.f, 2.f}); }), HasSubstr("group sizes are f32[2]"));
  EXPECT_THAT(message([&] { return tn::ragged_dot(lhs, lhs, sizes); }),
              HasSubstr("ragged_dot: of f32[20,3] and f32[20,3]"));
  EXPECT_THAT(message([&] { return tn::ragged_dot(lhs, tn::ones({2, 5, 4}), sizes); }),
              HasSubstr("ragged_dot: axes (1) of lhs f32[20,3] and (1) of rhs f32[2,5,4] do not go together"));
  EXPECT_THAT(message([&] { return tn::ragged_dot_general(lhs, rhs, sizes, {{1}, {1}, {}, {}}, 0); }),
              HasSubstr("rhs has no axis of groups"));
  EXPECT_THAT(message([&] { return tn::ragged_dot_general(lhs, rhs, sizes, {{1, 1}, {1, 1}, {}, {}}, 0, 0); }),
              HasSubstr("axes (1, 1) of lhs f32[20,3] and (1, 1) of rhs f32[2,3,4] do not go together"));
}

}  // namespace
}  // namespace of_ragged_products
