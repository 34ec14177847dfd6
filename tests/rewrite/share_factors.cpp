#include "tenon/rewrite/share_factors.h"

#include <gtest/gtest.h>

#include "tenon/compile/pipeline.h"
#include "tenon/rewrite/pass.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

int solves_in(const Program& p) {
  int count = 0;
  for (const Eqn& eqn : p.eqns()) {
    count += eqn.op == &solve_op();
    eqn.params.visit_programs([&](const ProgramRef& inner) { count += inner ? solves_in(*inner) : 0; });
  }
  return count;
}

struct FactorsCase {
  const char* name;
  std::function<Array(const Array& a, const Array& b)> f;  // [20, 20], [20]
  int left = 0;                                            // eqns that factor and solve at once
};
Array relaxed(const Array& a, const Array& b) {
  return scan([&](const Array& c, const Array&) { return std::pair(sin(solve(a, c)), c); }, b, arange(4)).second;
}
const FactorsCase factors_cases[]{
    {"EachStepSolves", relaxed},
    {"OfASum", [](const Array& a, const Array& b) { return relaxed(a + a, b); }},
    {"GradientOfSteps",
     [](const Array& a, const Array& b) {
       const auto [da, db] = grad<0, 1>([](const Array& a, const Array& b) { return sum(real(relaxed(a, b))); })(a, b);
       return da + db;
     }},
    {"ValueAndGradient",
     [](const Array& a, const Array& b) {
       const auto f = [](const Array& a, const Array& b) { return sum(square(real(solve(a, b)))); };
       const auto [value, slope] = value_and_grad(f)(a, b);
       return value + slope;
     }},
    {"SeveralSides", [](const Array& a, const Array& b) { return solve(a, b) + solve(a, sin(b)); }},
    {"MatricesOfLanes",
     [](const Array& a, const Array& b) {
       const auto one = [&](const Array& scale) { return relaxed(a * scale, b); };
       return vmap(one)(b(slice(0, 3)) + 2.0f);
     }},
    {"SidesOfLanes",
     [](const Array& a, const Array& b) {
       const auto one = [&](const Array& scale) { return relaxed(a, b * scale); };
       return vmap(one)(b(slice(0, 3)) + 2.0f);
     }},
    {"LoopsInLoops",
     [](const Array& a, const Array& b) {
       return scan([&](const Array& c, const Array&) { return std::pair(c + 1.0f, relaxed(a, c)); }, b, arange(3))
           .second;
     }},
    {"AnotherMatrixInEachStep",
     [](const Array& a, const Array& b) {
       const auto step = [&](const Array& c, const Array&) { return std::pair(solve(a + c, c), c); };
       return scan(step, b, arange(4)).second;
     },
     1},
    {"OneSide", [](const Array& a, const Array& b) { return solve(a, b); }, 1},
    {"TheSameInEachStep",  // which goes before the loop as it is
     [](const Array& a, const Array& b) {
       return scan([&](const Array& c, const Array&) { return std::pair(c + solve(a, b), c); }, b, arange(4)).second;
     },
     1},
};

class ShareFactors : public testing::TestWithParam<std::tuple<FactorsCase, DType>> {};

TEST_P(ShareFactors, GivesTheSame) {
  const auto& [c, dtype] = GetParam();
  const Array wave = sin(reshape(arange(400, DType::f64), {20, 20}) * 1.7);
  const Array a = convert(wave + eye(20, DType::f64) * 20.0, dtype), b = convert(cos(arange(20, DType::f64)), dtype);
  const ProgramRef p = inline_calls(trace(c.f)(a, b)), q = share_factors(p);
  EXPECT_EQ(solves_in(*q), c.left) << p << q;
  const std::vector<Value> in{a.value(), b.value()}, want = evaluate(*p, {}, in), got = evaluate(*q, {}, in);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double tolerance = dtype == DType::f32 || dtype == DType::c64 ? 1e-3 : 1e-9;
    EXPECT_TRUE(allclose(Array(std::get<Buffer>(got[i])), Array(std::get<Buffer>(want[i])), tolerance, tolerance)) << q;
    EXPECT_TRUE(allclose(jit(c.f)(a, b), Array(std::get<Buffer>(want[i])), tolerance, tolerance));
  }
}
INSTANTIATE_TEST_SUITE_P(All, ShareFactors,
                         testing::Combine(testing::ValuesIn(factors_cases),
                                          testing::Values(DType::f32, DType::f64, DType::c64, DType::c128)),
                         case_and_dtype);

TEST(FactorsOfOne, AreNotSharedUnderStrictNumerics) {
  const Array a = eye(5, DType::f64) * 2.0, b = ones({5}, DType::f64);
  const StrictNumerics strict;
  const ProgramRef p = inline_calls(trace(relaxed)(a, b));
  EXPECT_EQ(solves_in(*share_factors(p)), 1) << p;
}

TEST(FactorsOfOne, SingularGiveNoNumbers) {
  const Array a = zeros({5, 5}, DType::f64), b = ones({5}, DType::f64);
  EXPECT_TRUE(all(!is_finite(jit(relaxed)(a, b)(slice(1, none)))).item<bool>());
}

}  // namespace
}  // namespace tenon
