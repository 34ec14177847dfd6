// Contractions whose batch, free or summed axes do not lie behind each other: products of matrices, of operands laid
// out.
#include <gtest/gtest.h>

#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Contraction {
  const char* equation;
  Shape a, b;
};
const Contraction contractions[] = {
    {"btnh,bsnh->bnts", {2, 40, 3, 16}, {2, 50, 3, 16}},  // two batch axes apart
    {"bnts,bsnh->btnh", {2, 3, 40, 50}, {2, 50, 3, 16}},  // of the second operand alone
    {"iajb,kajb->ik", {30, 8, 40, 9}, {20, 8, 40, 9}},    // all in order
    {"iajb,bkaj->ik", {30, 8, 40, 9}, {9, 20, 8, 40}},    // sums in another order than the second operand has them
    {"ibja,bakl->ijkl", {12, 9, 11, 8}, {9, 8, 10, 13}},  // free axes on both sides of a sum
    {"zibja,bzakl->zijkl", {2, 12, 9, 11, 8}, {9, 2, 8, 10, 13}},
    {"ibja,bakl->ijkl", {1, 9, 121, 8}, {9, 8, 1, 130}},  // axes of one element
};

Array values_of(std::uint64_t seed, const Shape& shape, DType dtype) {
  const Array real = random::uniform(random::key(seed), shape) - 0.5F;
  if (!is_complex(dtype)) return convert(real, dtype);
  return convert(complex(real, random::uniform(random::key(seed + 100), shape)), dtype);
}

class MergedProducts : public testing::TestWithParam<DType> {};
TEST_P(MergedProducts, AsTheEvaluator) {
  for (const Contraction& c : contractions) {
    SCOPED_TRACE(c.equation);
    const Array a = values_of(1, c.a, GetParam()), b = values_of(2, c.b, GetParam());
    const auto f = [&](const Array& x, const Array& y) { return einsum(c.equation, x * x, y); };
    const Array want(std::get<Buffer>(evaluate(*trace(f)(a, b), {}, std::vector{a.value(), b.value()})[0]));
    for (const Sizes sizes : {Sizes::fixed, Sizes::symbolic}) {
      const Array got = jit(f, {.sizes = sizes})(a, b);
      const double scale = convert(amax(abs(want)), DType::f64).item<double>();
      const double slack = GetParam() == DType::f16 ? 4e-3 : GetParam() == DType::f64 ? 1e-13 : 1e-5;
      EXPECT_LT(convert(amax(abs(got - want)), DType::f64).item<double>(), slack * (1 + scale));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(DTypes, MergedProducts, testing::Values(DType::f32, DType::f64, DType::f16, DType::c64));

TEST(MergedProducts, AreLibraryCalls) {
  for (const Contraction& c : contractions) {
    const Array a = values_of(1, c.a, DType::f32), b = values_of(2, c.b, DType::f32);
    const auto f = [&](const Array& x, const Array& y) { return einsum(c.equation, x, y); };
    EXPECT_NE(std::string(explain(f)(a, b)).find("library calls"), std::string::npos) << c.equation;
    // In the order of the sums where that is asked for.
    EXPECT_EQ(std::string(explain(jit(f, {.numerics = Numerics::strict}))(a, b)).find("library calls"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tenon
