// Arrays whose size the data decide, under every transformation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"

namespace tn = tenon;
using testing::ElementsAre;
using tn::Array;

namespace {

const Array x = {1.0, 2.0, 3.0, 4.0, 5.0}, y = {5.0, 4.0, 3.0, 2.0, 1.0};
const Array mask = {true, false, true, true, false};

Array masked_product(const Array& a, const Array& b, const Array& m) {
  return tn::sum(tn::compress(a, m) * tn::compress(tn::sin(b), m));
}
std::vector<double> of(const Array& a) {
  const tn::Buffer b = a.to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}

TEST(DataSizes, GradientOfAMaskedProduct) {
  const Array g = tn::grad(masked_product)(x, y, mask);
  EXPECT_THAT(of(g), ElementsAre(std::sin(5.0), 0, std::sin(3.0), std::sin(2.0), 0));
  EXPECT_THAT(of(tn::grad<1>(masked_product)(x, y, mask)),
              ElementsAre(std::cos(5.0), 0, 3 * std::cos(3.0), 4 * std::cos(2.0), 0));
}

// Only the mask is kept for the second part: the size is found from it again.
TEST(DataSizes, GradientOfAMaskedSum) {
  const auto loss = [](const Array& a, const Array& m) { return tn::sum(tn::compress(a, m)); };
  EXPECT_THAT(of(tn::grad(loss)(x, mask)), ElementsAre(1, 0, 1, 1, 0));
  EXPECT_THAT(of(tn::jit(tn::grad(loss))(x, mask)), ElementsAre(1, 0, 1, 1, 0));
}

// The mask itself is computed on the way, and the size takes part in the value.
TEST(DataSizes, GradientThroughAComputedMask) {
  const auto loss = [](const Array& a) { return tn::mean(tn::square(tn::compress(a, a > 2.5))); };
  const auto want = ElementsAre(0, 0, 2.0, testing::DoubleEq(8.0 / 3), testing::DoubleEq(10.0 / 3));
  EXPECT_THAT(of(tn::grad(loss)(x)), want);
  EXPECT_THAT(of(tn::jit(tn::grad(loss))(x)), want);
  EXPECT_THAT(of(tn::grad(tn::jit(loss))(x)), want);
}

TEST(DataSizes, SecondDerivatives) {
  const auto loss = [](const Array& a) { return tn::sum(tn::exp(tn::compress(a, mask))); };
  EXPECT_THAT(of(tn::hvp(loss, x, y)),
              ElementsAre(testing::DoubleEq(5 * std::exp(1.0)), 0, testing::DoubleEq(3 * std::exp(3.0)),
                          testing::DoubleEq(2 * std::exp(4.0)), 0));
  const auto of_gradient = [&](const Array& a) { return tn::sum(tn::grad(loss)(a) * y); };
  EXPECT_THAT(of(tn::grad(of_gradient)(x)),
              ElementsAre(testing::DoubleEq(5 * std::exp(1.0)), 0, testing::DoubleEq(3 * std::exp(3.0)),
                          testing::DoubleEq(2 * std::exp(4.0)), 0));
}

// A function that is called twice with different masks gives two sizes; with one mask, one.
TEST(DataSizes, CallsShareTheSizeOfOneMask) {
  auto pick = tn::jit([](const Array& a, const Array& m) { return tn::compress(a, m) * 2.0; });
  const auto both = [&](const Array& a, const Array& b, const Array& m) { return tn::sum(pick(a, m) * pick(b, m)); };
  EXPECT_DOUBLE_EQ(tn::jit(both)(x, y, mask).item<double>(), 4 * (5 + 9 + 8));
  EXPECT_THAT(of(tn::grad(both)(x, y, mask)), ElementsAre(20, 0, 12, 8, 0));
  const auto two = [&](const Array& a, const Array& m) { return tn::sum(pick(a, m)) * tn::sum(pick(a, !m)); };
  EXPECT_DOUBLE_EQ(tn::jit(two)(x, mask).item<double>(), 16 * 14);
  EXPECT_THAT(of(tn::grad(two)(x, mask)), ElementsAre(28, 32, 28, 28, 32));
}

// What was looked at on the way is known from then on.
TEST(DataSizes, ValuesOnDemand) {
  const auto loss = [](const Array& a) {
    const Array part = tn::compress(a, a > 2.5);
    return tn::sum(part).item<double>() > 0 ? tn::sum(part * part) : tn::sum(part);
  };
  EXPECT_THAT(of(tn::grad(loss)(x)), ElementsAre(0, 0, 6, 8, 10));
}

TEST(DataSizes, DifferentMasksDoNotAgree) {
  const auto wrong = [](const Array& a, const Array& m) { return tn::sum(tn::compress(a, m) * tn::compress(a, !m)); };
  EXPECT_THROW(tn::jit(wrong)(x, mask), tn::ShapeError);
}

}  // namespace
