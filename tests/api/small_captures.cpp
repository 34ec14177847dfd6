// Small arrays of integers that a jitted function captures are its code, until others come.
#include "tenon/api/small_captures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;

namespace {

auto taken(const std::vector<std::int64_t>& places) {
  const Array at = tn::array<std::int64_t>(places, {static_cast<std::int64_t>(places.size())});
  return [=](Array x) { return tn::sin(x(at)) * 0.25; };
}

TEST(Tables, TheFirstAreCodeAndOthersData) {
  const Array x = tn::arange(5, tn::DType::f64);
  EXPECT_THAT(tn::explain(taken({4, 0, 2}))(x), HasSubstr("1 arguments"));
  EXPECT_THAT(tn::explain(taken({4, 0, 2}))(x), HasSubstr("1 arguments"));
  EXPECT_THAT(tn::explain(taken({1, 1, 3}))(x), HasSubstr("2 arguments"));
  for (const auto& places : {std::vector<std::int64_t>{4, 0, 2}, {1, 1, 3}, {-1, 0, -2}})
    EXPECT_TRUE(tn::allclose(tn::jit(taken(places))(x), taken(places)(x), 1e-12));
}

TEST(Tables, LargeAndRealArraysAreData) {
  const Array x = tn::arange(300, tn::DType::f64), at = tn::arange(300), w = tn::ones({3}, tn::DType::f64) * 0.5;
  EXPECT_THAT(tn::explain([=](Array x) { return x(at) * 0.125; })(x), HasSubstr("2 arguments"));
  EXPECT_THAT(tn::explain([=](Array x) { return tn::sum(x) * w * 0.375; })(x), HasSubstr("2 arguments"));
}

TEST(Tables, UnderDerivativesBatchesAndLoops) {
  const auto f = taken({2, 0, 0, 1});
  const auto g = [=](Array x) { return tn::sum(tn::grad([&](Array x) { return tn::sum(f(x) * f(x)); })(x)); };
  const auto steps = [=](Array x) {
    return tn::scan([&](Array c, Array row) { return std::pair(c + f(row)(tn::slice(0, 3)), f(c)); },
                    tn::zeros({3}, tn::DType::f64), x);
  };
  const Array x = tn::reshape(tn::arange(12, tn::DType::f64), {4, 3});
  EXPECT_TRUE(tn::allclose(tn::jit(tn::vmap(g))(x), tn::vmap(g)(x), 1e-12));
  const auto [last, all] = tn::jit(steps)(x);
  const auto [want_last, want_all] = steps(x);
  EXPECT_TRUE(tn::allclose(last, want_last, 1e-12));
  EXPECT_TRUE(tn::allclose(all, want_all, 1e-12));
}

}  // namespace
