// Products of narrow numbers and their preferred dtypes: evaluated, compiled, of sizes that vary, under
// transformations; beside the same products of f64 or i64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../error_message.h"
#include "tenon/base/factors.h"
#include "tenon/tenon.h"

namespace of_products {
namespace {

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::Shape;

std::vector<double> values(const Array& x) {
  const tn::Buffer buffer = tn::convert(x, DType::f64).to_buffer();
  return {buffer.as<double>(), buffer.as<double>() + buffer.elements()};
}
// Numbers of all bits of a half, and bytes of all values.
Array drawn(const Shape& shape, DType dtype, double seed) {
  const Array x =
      tn::reshape(tn::sin(tn::convert(tn::arange(shape.elements()), DType::f64) * (1.7 + seed) + seed), shape);
  if (tn::is_inexact(dtype)) return tn::convert(x, dtype);
  return tn::convert(dtype == DType::u8 ? x * 127.5 + 127.5 : x * 127.5, dtype);
}
double spacing(DType d) { return d == DType::bf16 ? 0x1p-8 : d == DType::f16 ? 0x1p-11 : 0x1p-22; }

// Each value within a rounding of the result, and f32's rounding of the sum of `terms`.
void expect_products(const Array& got, const Array& wanted, double terms) {
  const double of_sum = (terms + 8) * 0x1p-22, of_result = tn::is_inexact(got.dtype()) ? spacing(got.dtype()) : 0;
  const std::vector<double> x = values(got), y = values(wanted);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(std::abs(x[i] - y[i]), of_result == 0 ? 0 : std::abs(y[i]) * of_result + of_sum) << i;
}

struct Case {
  DType a, b, result;
};
const std::vector<Case> cases{{DType::bf16, DType::bf16, DType::bf16}, {DType::bf16, DType::bf16, DType::f32},
                              {DType::f16, DType::f16, DType::f16},    {DType::f16, DType::f16, DType::f32},
                              {DType::i8, DType::i8, DType::i32},      {DType::u8, DType::u8, DType::i32},
                              {DType::i8, DType::u8, DType::i32},      {DType::u8, DType::u8, DType::u32},
                              {DType::i8, DType::i8, DType::f32}};

TEST(NarrowProducts, OfMatricesEvaluatedAndCompiled) {
  for (const auto& [da, db, result] : cases)
    for (const auto& [m, n, k] : {std::array{3, 4, 5}, std::array{40, 50, 70}, std::array{1, 64, 96}}) {
      const Array a = drawn({m, k}, da, 0), b = drawn({k, n}, db, 1);
      const auto product = [result = result](Array x, Array y) { return tn::matmul(x, y, result); };
      const Array wanted = tn::matmul(tn::convert(a, DType::f64), tn::convert(b, DType::f64));
      for (const Array& got : {product(a, b), tn::jit(product)(a, b)}) {
        EXPECT_EQ(got.dtype(), result);
        expect_products(got, wanted, k);
      }
    }
}

TEST(NarrowProducts, IntegersWrapWhereNothingIsPreferred) {
  const Array a = drawn({40, 70}, DType::i8, 0), b = drawn({70, 50}, DType::i8, 1);
  const Array wanted = tn::convert(
      tn::matmul(tn::convert(a, DType::i32), tn::convert(b, DType::i32)) & tn::full({40, 50}, std::int32_t(255)),
      DType::u8);
  for (const Array& got : {tn::matmul(a, b), tn::jit([](Array x, Array y) { return tn::matmul(x, y); })(a, b)}) {
    EXPECT_EQ(got.dtype(), DType::i8);
    EXPECT_EQ(values(tn::bitcast(got, DType::u8)), values(wanted));
  }
}

// Transposed operands, batches, several axes, and sums of letters that one operand has alone.
TEST(NarrowProducts, OfEveryOrderOfAxes) {
  for (const auto& [da, db, result] : cases) {
    const Array a = drawn({3, 20, 40}, da, 0), b = drawn({3, 40, 24}, db, 1);
    for (const auto& [text, flip_a, flip_b] : {std::tuple{"bik,bkj->bij", false, false},
                                               {"bki,bkj->bij", true, false},
                                               {"bik,bjk->ijb", false, true},
                                               {"bki,bjk->bji", true, true},
                                               {"bik,bkj->ij", false, false},
                                               {"bik,bkj->j", false, false}}) {
      const auto product = [text = text, result = result](Array x, Array y) {
        return tn::einsum(text, {x, y}, {.preferred = result});
      };
      const Array x = flip_a ? tn::transpose(a, {0, 2, 1}) : a, y = flip_b ? tn::transpose(b, {0, 2, 1}) : b;
      const Array wanted = tn::einsum(text, tn::convert(x, DType::f64), tn::convert(y, DType::f64));
      if (result == DType::f16 && text == std::string("bik,bkj->j")) continue;  // sums before it would be rounded
      if (result == DType::bf16 && text == std::string("bik,bkj->j")) continue;
      for (const Array& got : {product(x, y), tn::jit(product)(x, y)}) expect_products(got, wanted, 20 * 3 * 40);
    }
  }
}

TEST(NarrowProducts, OfSizesThatVary) {
  for (const auto& [da, db, result] : cases) {
    const auto product = tn::jit([result = result](Array x, Array y) { return tn::matmul(x, y, result); },
                                 {.sizes = tn::Sizes::symbolic});
    for (const auto& [m, n, k] : {std::array{40, 50, 70}, std::array{2, 3, 4}, std::array{7, 0, 4}, std::array{7, 9, 0},
                                  std::array{33, 64, 128}}) {
      const Array a = drawn({m, k}, da, 0), b = drawn({k, n}, db, 1);
      expect_products(product(a, b), tn::matmul(tn::convert(a, DType::f64), tn::convert(b, DType::f64)), k);
    }
  }
}

TEST(NarrowProducts, UnderTransformations) {
  for (const auto& [da, db, result] : cases) {
    const Array a = drawn({5, 24, 40}, da, 0), b = drawn({40, 32}, db, 1);
    const auto product = [result = result](Array x, Array y) { return tn::matmul(x, y, result); };
    const Array lanes = tn::jit(tn::vmap(product, {.in_axes = {0, tn::none}}))(a, b);
    expect_products(lanes, tn::matmul(tn::convert(a, DType::f64), tn::convert(b, DType::f64)), 40);
    if (!tn::is_inexact(da)) continue;
    const Array w = drawn({5, 24, 32}, DType::f32, 2);
    const auto loss = [&](Array x, Array y) { return tn::sum(tn::convert(product(x, y), DType::f32) * w); };
    const auto slopes = tn::jit(tn::grad<0, 1>(loss))(a, b);
    const auto wide = tn::grad<0, 1>([&](Array x, Array y) {
      return tn::sum(tn::matmul(x, y) * tn::convert(w, DType::f64));
    })(tn::convert(a, DType::f64), tn::convert(b, DType::f64));
    // The cotangents of a product that is rounded to a half are rounded too.
    const double eps = spacing(da);
    const auto near = [&](const Array& got, const Array& wanted, double terms) {
      EXPECT_EQ(got.dtype(), da);
      const std::vector<double> x = values(got), y = values(wanted);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(std::abs(x[i] - y[i]), eps * (std::abs(y[i]) + std::sqrt(terms)));
    };
    near(std::get<0>(slopes), std::get<0>(wide), 32);
    near(std::get<1>(slopes), std::get<1>(wide), 120);
  }
}

// The library reads the narrow numbers: no wider copy of an operand is made.
TEST(NarrowProducts, NothingIsConvertedBefore) {
  for (const auto& [da, db, result] : cases) {
    if (da == result || !tn::are_factors(da, db, result)) continue;
    const auto product = [result = result](Array x, Array y) { return tn::matmul(x, y, result); };
    const std::string text = tn::explain(product)(drawn({64, 64}, da, 0), drawn({64, 64}, db, 1));
    EXPECT_THAT(text, HasSubstr(std::string(tn::name(da)) + "[64,64] · "));
    EXPECT_THAT(text, HasSubstr(std::string("to ") + std::string(tn::name(result))));
    EXPECT_THAT(text, testing::Not(HasSubstr("convert")));
  }
}

TEST(NarrowProducts, WhatIsOverwrittenIsReadBefore) {
  const auto f = [](Array x, Array y) {
    const Array wide = tn::convert(x, DType::f32);
    const Array next = x.at(0).set(tn::convert(tn::full({64}, 2.f), DType::bf16));
    return std::pair(next, tn::matmul(wide, tn::convert(y, DType::f32)));
  };
  const Array x = drawn({64, 64}, DType::bf16, 0), y = drawn({64, 64}, DType::bf16, 1);
  const auto [next, product] = tn::jit(f)(x, y);
  expect_products(product, tn::matmul(tn::convert(x, DType::f64), tn::convert(y, DType::f64)), 64);
  EXPECT_EQ(values(next(0))[0], 2);
}

TEST(NarrowProducts, SayWhatDoesNotFit) {
  const Array f = drawn({2, 2}, DType::f32, 0), z = tn::convert(f, DType::c64), i = drawn({2, 2}, DType::i8, 0);
  EXPECT_THAT(tn::message_of<tn::DTypeError>([&] { tn::matmul(f, f, DType::i32); }),
              HasSubstr("i32 is preferred, which sums of f32 do not fit in"));
  EXPECT_THAT(tn::message_of<tn::DTypeError>([&] { tn::dot_general(z, z, {{1}, {0}, {}, {}}, DType::f32); }),
              HasSubstr("dot_general: f32 is preferred"));
  EXPECT_THAT(tn::message_of<tn::DTypeError>([&] { tn::einsum("ij,jk->ik", {i, i}, {.preferred = DType::bool_}); }),
              HasSubstr("bool is preferred"));
}

}  // namespace
}  // namespace of_products
