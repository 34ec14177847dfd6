// Bodies with so many functions that they are calls: each function, of lanes, of what is left of a row, of scalars and
// in sums, against the evaluator.
#include <gtest/gtest.h>

#include "../by_oracle.h"
#include "../fuzzing.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Function {
  const char* name;
  Array (*of)(const Operand&);
  double low, high;
};
// The range that trigonometry is written for decides which function is called: small, moderate and any arguments.
const std::vector<Function> functions{{"exp", exp, -5, 5},
                                      {"expm1", expm1, -2, 2},
                                      {"log", log, 0.1, 9},
                                      {"log1p", log1p, -0.5, 4},
                                      {"sin", sin, -9, 9},
                                      {"cos", cos, -9, 9},
                                      {"tan", tan, -1.4, 1.4},
                                      {"tanh", tanh, -4, 4},
                                      {"sinh", sinh, -4, 4},
                                      {"cosh", cosh, -4, 4},
                                      {"asin", asin, -0.9, 0.9},
                                      {"acos", acos, -0.9, 0.9},
                                      {"atan", atan, -4, 4},
                                      {"logistic", logistic, -4, 4},
                                      {"erf", erf, -2, 2},
                                      {"erfc", erfc, -2, 2},
                                      {"sin of sines", [](const Operand& x) { return sin(sin(x)); }, -9, 9},
                                      {"pow", [](const Operand& x) { return pow(x, Array(x) * 0.5); }, 0.1, 5},
                                      {"atan2", [](const Operand& x) { return atan2(x, 1.0 - Array(x)); }, -4, 4},
                                      {"rem", [](const Operand& x) { return Array(x) % 0.7; }, -4, 4},
                                      {"sin and cos", [](const Operand& x) { return sin(x) * cos(x); }, -9, 9}};

class LongBodies : public testing::TestWithParam<std::tuple<Function, DType>> {};

TEST_P(LongBodies, GiveWhatTheEvaluatorGives) {
  const auto& [function, dtype] = GetParam();
  const double tolerance = dtype == DType::f32 ? 2e-5 : 1e-12;
  for (const std::int64_t n : {1, 5, 64, 1003}) {
    const Array x = convert(arange(n, DType::f64) * ((function.high - function.low) / 1003) + function.low, dtype);
    const auto each = [&, of = function.of](const Array& v) {
      Array total = v;
      for (int i = 0; i < 20; ++i) total = total + of(v * (0.999 - 0.001 * i)) * (0.1 * i);
      return total;
    };
    const auto f = [&](const Array& v) { return std::pair(each(v), sum(each(v * 0.99))); };
    const auto [native, native_sum] = jit(f)(x);
    const ByOracle oracle;
    const auto [wanted, wanted_sum] = f(x);
    EXPECT_TRUE(allclose(native, wanted, tolerance, tolerance)) << n;
    EXPECT_TRUE(allclose(native_sum, wanted_sum, 10 * tolerance, tolerance * static_cast<double>(n))) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LongBodies,
                         testing::Combine(testing::ValuesIn(functions), testing::Values(DType::f32, DType::f64)),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param).name;
                           std::ranges::replace(name, ' ', '_');
                           return name + "_" + std::string(tenon::name(std::get<1>(info.param)));
                         });

// A block of rows that is several functions: what they hand to each other lies together, in the whole blocks and in
// the rest, where all cores work and where one does.
TEST(LongRows, AreCutAndGiveWhatTheEvaluatorGives) {
  for (const std::int64_t n : {16, 100, 4099}) {
    if (fuzzing::is_repetition() && n != 100) continue;
    const Array x = sin(arange(n, DType::f32) * 0.37f);
    const auto long_rows = [](const Array& v) {
      Array y = v, z = v * 0.5f;
      for (int i = 0; i < 2500; ++i) {
        y = y * 0.5f + z * 0.25f + 0.001f * static_cast<float>(i % 7);
        if (i % 50 == 0) z = cos(z) - y;
      }
      return y + z;
    };
    const auto f = [&](const Array& v) {
      return std::pair(long_rows(v), grad([&](const Array& u) { return sum(long_rows(u)); })(v));
    };
    const auto [native, slope] = jit(f)(x);
    const ByOracle oracle;
    const auto [wanted, wanted_slope] = f(x);
    EXPECT_TRUE(allclose(native, wanted, 1e-4, 1e-4)) << n;
    EXPECT_TRUE(allclose(slope, wanted_slope, 1e-4, 1e-4)) << n;
  }
}

}  // namespace
}  // namespace tenon
