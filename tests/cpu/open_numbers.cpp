// Functions that differ in numbers alone: they share code, each with its own, but where a number decides about the
// code.
#include <gtest/gtest.h>

#include "../by_oracle.h"
#include "../caches.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

std::size_t shared_so_far() { return cache_named("code").hits; }

using OfNumber = std::function<Array(const Array& x, double number)>;

struct Case {
  const char* name;
  OfNumber of;
};
const std::vector<Case> cases{
    {"products", [](const Array& x, double c) { return x * c; }},
    {"quotients", [](const Array& x, double c) { return x / c + c / (x * x + 1.0); }},
    {"sums", [](const Array& x, double c) { return x + c - (c - x) * x; }},
    {"comparisons", [](const Array& x, double c) { return where(x < c, x, where(x == c, -x, x * x)); }},
    {"choices", [](const Array& x, double c) { return where(x < 0.0, c + 0.0 * x, x); }},
    {"extrema", [](const Array& x, double c) { return max(x, c) + min(x, -c); }},
    {"several", [](const Array& x, double c) { return sin(x) * c + (x - (c + 0.01)) * (c + 0.02); }},
    {"reductions", [](const Array& x, double c) { return sum(x * c) + amax(x - c) + x; }},
    {"constants", [](const Array& x, double c) { return broadcast_to(convert(Array(c), x.dtype()), x.shape()); }},
    {"loops",
     [](const Array& x, double c) {
       return scan([&](const Array& s, const Array& row) { return std::pair(s * c + row, s); }, x(0), x).second;
     }},
    {"branches",
     [](const Array& x, double c) {
       return cond(sum(x) > c, [&](const Array& x) { return x * c; }, [&](const Array& x) { return x - c; }, x);
     }},
};

Array numbers(DType dtype) { return convert(reshape(sin(iota(DType::f64, {77}, 0) * 0.37), {7, 11}) * 3.0, dtype); }

void expect_as_evaluated(const std::function<Array(const Array&)>& f, const Array& x, const JitOptions& options = {}) {
  const Array native = jit(f, options)(x);
  const ByOracle oracle;
  const double tolerance = x.dtype() == DType::f32 ? 1e-5 : 1e-12;
  EXPECT_TRUE(allclose(native, f(x), tolerance, tolerance));
}

class OpenNumbersOf : public testing::TestWithParam<Case> {};

TEST_P(OpenNumbersOf, AreDataOfOneCode) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Array x = numbers(dtype);
    clear_caches();
    const auto with = [&](double c) { return [=](const Array& x) { return GetParam().of(x, c); }; };
    const auto gradient = [&](double c) { return grad([=](const Array& x) { return sum(GetParam().of(x, c) * x); }); };
    expect_as_evaluated(with(1.3), x), expect_as_evaluated(gradient(1.3), x);
    const std::size_t before = shared_so_far();
    for (const double c : {0.7, -2.1, 1e-3, 40.7}) {
      SCOPED_TRACE(c);
      expect_as_evaluated(with(c), x), expect_as_evaluated(gradient(c), x);
    }
    EXPECT_GE(shared_so_far() - before, 8u) << name(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(Operands, OpenNumbersOf, testing::ValuesIn(cases),
                         [](const auto& info) { return info.param.name; });

TEST(OpenNumbers, OfCodeForAllSizes) {
  const auto with = [](double c) { return [=](const Array& x) { return sum(x * c, {0}) + c; }; };
  const Array x = numbers(DType::f64);
  clear_caches();
  expect_as_evaluated(with(1.3), x, {.sizes = Sizes::symbolic});
  const std::size_t before = shared_so_far();
  expect_as_evaluated(with(1.7), x, {.sizes = Sizes::symbolic});
  EXPECT_EQ(shared_so_far() - before, 1u);
}

// The second number is in code of its own.
TEST(OpenNumbers, NotThoseThatDecideAboutCode) {
  struct Pair {
    OfNumber of;
    double first, second;
  };
  const std::vector<Pair> pairs{
      {[](const Array& x, double c) { return x * c; }, 1.3, 4},
      {[](const Array& x, double c) { return x + c; }, 1.3, std::numeric_limits<double>::infinity()},
      {[](const Array& x, double c) { return pow(abs(x), c); }, 1.3, 2.3},
      {[](const Array& x, double c) { return sin(x * c * 1e6); }, 1.3, 1e12},
      {[](const Array& x, double c) { return sin(min(max(x * 1e9, -c), c)); }, 1.3, 1.3e8},
      {[](const Array& x, double c) { return exp(tanh(x) * c); }, 1.3, 300.1},
      {[](const Array& x, double c) { return x * convert(c + 0.0 * x, DType::i32); }, 1.3, 77.3},
  };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(i);
    for (const double c : {pairs[i].first, pairs[i].second})
      expect_as_evaluated([&](const Array& x) { return pairs[i].of(x, c); }, numbers(DType::f64));
  }
}

}  // namespace
}  // namespace tenon
