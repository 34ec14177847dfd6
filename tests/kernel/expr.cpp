// Expressions as graphs.
#include "tenon/kernel/expr.h"

#include <gtest/gtest.h>

#include <thread>

namespace tenon::kernel {
namespace {

// A frame for each node would be more than the stack of a thread holds.
constexpr int deep = 1'000'000;

TEST(Expr, IsFreedWithoutRecursionHoweverDeep) {
  const float number = 1;
  Expr e = load(0, DType::f32, variable(0)), kept;
  for (int i = 0; i < deep; ++i) {
    e = binary(Binary::add, unary(Unary::neg, e), constant(DType::f32, &number));
    if (i == deep / 2) kept = e;
  }
  const std::weak_ptr<const Expr::Node> last = e.shared(), inner = kept.shared();
  e = Expr();
  EXPECT_TRUE(last.expired());
  EXPECT_FALSE(inner.expired());  // and what is in use stays
  EXPECT_EQ(kept.operand(0).node().unary, Unary::neg);
  kept = Expr();
  EXPECT_TRUE(inner.expired());
}

// Each node has two ways to the one below: 2^n paths.
TEST(Expr, OfSharedOperandsIsFreedNodeByNode) {
  Expr e = load(0, DType::f32, variable(0));
  const std::weak_ptr<const Expr::Node> first = e.shared();
  for (int i = 0; i < deep; ++i) e = binary(Binary::mul, e, e);
  e = Expr();
  EXPECT_TRUE(first.expired());
}

TEST(Expr, IsFreedByWhicheverThreadHoldsItLast) {
  Expr e = load(0, DType::f32, variable(0));
  for (int i = 0; i < deep / 10; ++i) e = unary(Unary::neg, e);
  const std::weak_ptr<const Expr::Node> last = e.shared();
  std::thread other([held = e]() mutable { held = Expr(); });
  e = Expr();
  other.join();
  EXPECT_TRUE(last.expired());
}

}  // namespace
}  // namespace tenon::kernel
