// Products of integers, which no library makes: every layout of their operands, against the evaluator.
#include <gtest/gtest.h>

#include "../by_oracle.h"
#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// Wraps around in every dtype that is not wider.
Array numbers(const Shape& shape, DType dtype, std::int64_t by) {
  return convert(reshape(arange(shape.elements().value(), DType::i64) * by - std::int64_t(7), shape), dtype);
}

struct Sizes {
  std::int64_t batch, m, n, k;  // batch 0: none
};
class IntegerProducts : public testing::TestWithParam<std::tuple<DType, Sizes, bool, bool>> {
};  // a, b transposed in memory

TEST_P(IntegerProducts, OfEveryLayout) {
  const auto& [dtype, sizes, a_turned, b_turned] = GetParam();
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool turned, std::int64_t by) {
    Shape shape;
    if (sizes.batch > 0) shape.push_back(sizes.batch);
    shape.push_back(turned ? columns : rows), shape.push_back(turned ? rows : columns);
    return numbers(shape, dtype, by);
  };
  const Array a = matrix(sizes.m, sizes.k, a_turned, 715827883), b = matrix(sizes.k, sizes.n, b_turned, 97);
  const auto product = [=](Array x, Array y) {
    const auto turn = [](const Array& z) { return move_axis(z, -1, -2); };
    return matmul(a_turned ? turn(x) : x, b_turned ? turn(y) : y);
  };
  const Array native = jit(product)(a, b);
  const ByOracle oracle;
  EXPECT_TRUE(array_equal(native, product(a, b)));
}

INSTANTIATE_TEST_SUITE_P(All, IntegerProducts,
                         testing::Combine(testing::Values(DType::i32, DType::i64, DType::u32, DType::u64),
                                          testing::Values(Sizes{0, 9, 11, 17}, Sizes{0, 130, 3, 5}, Sizes{0, 2, 70, 33},
                                                          Sizes{0, 1, 80, 40}, Sizes{0, 80, 1, 40}, Sizes{3, 9, 10, 20},
                                                          Sizes{0, 9, 10, 0}, Sizes{0, 0, 10, 20}, Sizes{2, 90, 2, 1}),
                                          testing::Bool(), testing::Bool()));

// The spelling does not decide how fast it is: b is laid out once, and read by vectors.
TEST(IntegerProducts, AreNests) {
  const Array a = numbers({64, 40}, DType::i32, 3), b = numbers({50, 40}, DType::i32, 5);
  const auto planned = [&](const auto& f) {
    return kernel::print(plan(*run_passes(compile_passes(), trace(f)(a, b))).function);
  };
  const std::string product = planned([](Array x, Array y) { return matmul(x, transpose(y)); }),
                    summed = planned(
                        [](Array x, Array y) { return sum(reshape(x, {64, 1, 40}) * reshape(y, {1, 50, 40}), 2); });
  EXPECT_EQ(product.find("product"), std::string::npos) << product;
  EXPECT_NE(product.find("sum over [i"), std::string::npos) << product;
  EXPECT_NE(summed.find("sum over [i"), std::string::npos) << summed;
}

// Rows that data choose within a batch's own row: one block after the other, no whole array between.
TEST(ChosenWithinRows, StayInTheirBlock) {
  const Array x = numbers({5000, 4, 4}, DType::i32, 1);
  const Array order =
      array<std::int64_t>(std::vector<std::int64_t>{0, 5, 10, 15, 1, 6, 11, 12, 2, 7, 8, 13, 3, 4, 9, 99}, {16});
  const auto f = [](Array m, Array at) {
    return vmap([&](Array one) { return reshape(take(reshape(one + one, {16}), at), {4, 4}) * one; })(m);
  };
  const Array native = jit(f)(x, order);
  const std::string text = kernel::print(plan(*run_passes(compile_passes(), trace(f)(x, order))).function);
  EXPECT_NE(text.find("blocks"), std::string::npos) << text;
  const ByOracle oracle;
  EXPECT_TRUE(array_equal(native, f(x, order)));
}

}  // namespace
}  // namespace tenon
