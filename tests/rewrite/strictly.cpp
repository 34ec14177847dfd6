// Numerics::strict for parts of a Program.
#include "tenon/rewrite/strictly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/ops/structure/structure.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

namespace tn = tenon;

TEST(Strictly, OpByOpElementsAreStrictAndWhatHoldsOthersIsNot) {
  const auto f = [](Array x) {
    const Array steps = tn::scan([](Array c, Array y) { return std::pair(c * y, c); }, Array(1.0f), x).second;
    return tn::sum(x * x + 1.0f) + tn::sum(tn::matmul(x, x)) + steps(0);
  };
  const ProgramRef traced = tn::trace(f)(tn::zeros({4})), made = as_op_by_op(traced);
  std::size_t strict = 0;
  for (const Eqn& eqn : made->eqns()) {
    const bool element = rule_of<LowerElement>(*eqn.op) != nullptr;
    EXPECT_EQ(eqn.numerics == Numerics::strict, element) << eqn.op->name;
    strict += element ? 1 : 0;
  }
  EXPECT_GT(strict, 3u);
  EXPECT_LT(strict, made->eqns().size());
  EXPECT_EQ(as_op_by_op(traced), made);  // memoised
  const Array x{1.f, 2.f, 3.f, 4.f};
  EXPECT_EQ(tn::jit(f)(x).item<float>(), f(x).item<float>());
}

TEST(Strictly, AWholeProgramIsStrictWithWhatItHolds) {
  const auto f = [](Array x) {
    return tn::sum(tn::scan([](Array c, Array y) { return std::pair(c + y * y, c); }, Array(1.0f), x).second);
  };
  const ProgramRef made = strictly(tn::trace(f)(tn::zeros({4})));
  EXPECT_EQ(find_eqn(*made, [](const Eqn& eqn) { return eqn.numerics != Numerics::strict; }), nullptr);
  EXPECT_EQ(strictly(made), made);
}

}  // namespace
}  // namespace tenon
