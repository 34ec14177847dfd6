// Long programs of equal statements, which share code: each kind of statement, alone and among others, against the
// evaluator.
#include <gtest/gtest.h>

#include "../by_oracle.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Layer {
  const char* name;
  Array (*of)(const Array& x);
};
const std::vector<Layer> layers{
    {"products", [](const Array& x) { return sin(matmul(x, x) * 0.02) * 0.5 + x; }},
    {"reductions", [](const Array& x) { return (x - mean(x)) / (1.0 + amax(abs(x))); }},
    {"rows", [](const Array& x) { return softmax(x * 3.0, -1) - 0.2; }},
    {"updates", [](const Array& x) { return cos(x).at(1).add(x(0) * 0.25).at(0).set(x(1)); }},
    {"gathers",
     [](const Array& x) {
       const std::int64_t n = x.shape()[0].value();
       const Array from = arange(n) * 3 % n;
       return take(sin(x), from, 0) * 0.5 + mean(x) * 0.1;
     }},
    {"sorts", [](const Array& x) { return sort(cos(x * 2.0), 0) - 0.5 * x; }},
    {"factors",
     [](const Array& x) {
       return cholesky(matmul(x, transpose(x)) * 0.01 + eye(x.shape()[0].value(), x.dtype()) * 4.0) - sin(x);
     }},
    {"loops",
     [](const Array& x) {
       return scan([](const Array& c, const Array& row) { return std::pair(tanh(c + row), c * row); }, x(0) * 0.5, x)
           .second;
     }},
    {"open_loops",
     [](const Array& x) {
       return while_loop([](const Array& c) { return amax(abs(c)) < 2.0; },
                         [](const Array& c) { return c * 1.5 + 0.01; }, sin(x) + 0.1);
     }},
    {"branches",
     [](const Array& x) {
       return cond(
           sum(x) > 0.0, [](const Array& x) { return sin(x) * 0.9; }, [](const Array& x) { return cos(x) * 1.1; }, x);
     }},
};

Array start(std::int64_t n) { return reshape(sin(iota(DType::f64, {n * n}, 0) * 0.37), {n, n}); }

void expect_as_evaluated(const std::function<Array(const Array&)>& f, std::int64_t n) {
  const Array x = start(n);
  const auto g = grad([&](const Array& x) { return sum(f(x) * f(x)); });
  const Array native = jit(f)(x), native_gradient = jit(g)(x);
  const ByOracle oracle;
  EXPECT_TRUE(allclose(native, f(x), 1e-10, 1e-10)) << n;
  EXPECT_TRUE(allclose(native_gradient, g(x), 1e-8, 1e-8)) << n;
}

class LaunchesOf : public testing::TestWithParam<Layer> {};

TEST_P(LaunchesOf, EqualLayers) {
  for (const std::int64_t n : {4, 33})
    expect_as_evaluated(
        [&](Array x) {
          for (int i = 0; i < 12; ++i) x = GetParam().of(x);
          return x;
        },
        n);
}

INSTANTIATE_TEST_SUITE_P(Statements, LaunchesOf, testing::ValuesIn(layers),
                         [](const auto& info) { return info.param.name; });

// Between equal statements there are some that have no equals, and what is local is shared with these.
TEST(Launches, AmongOthers) {
  for (const std::int64_t n : {4, 33})
    expect_as_evaluated(
        [](Array x) {
          Array total = zeros(x.shape(), x.dtype());
          for (std::size_t i = 0; i < 30; ++i) {
            x = layers[i % layers.size()].of(x);
            total = total * 0.5 + x * std::sin(static_cast<double>(i)) + amin(x);
          }
          return total + x;
        },
        n);
}

// Statements that are equal but for numbers, or for where in an array they begin.
TEST(Launches, OfOtherNumbersAndPlaces) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const auto f = [&](const Array& whole) {
      std::vector<Array> all;
      Array x = whole(0);
      for (int i = 0; i < 40; ++i) {
        const double c = 0.02 * i;
        x = tanh(x * (0.9 - c) + c) + pow(abs(x) + 1.0, 0.5 + c) * 0.1;
        x = where(x > c, max(x, 0.3 + c), -c) - whole(i) * 0.25;
        all.push_back(matmul(whole, x) * (0.01 + 0.1 * c));
        all.push_back(convert(full({48}, c), dtype));
      }
      return stack(all);
    };
    const Array x = convert(reshape(sin(iota(DType::f64, {48 * 48}, 0) * 0.37), {48, 48}), dtype);
    const Array native = jit(f)(x);
    const double tolerance = dtype == DType::f64   ? 1e-10
                             : dtype == DType::f32 ? 1e-4
                             : dtype == DType::f16 ? 0.05
                                                   : 0.4;
    const ByOracle oracle;
    EXPECT_TRUE(allclose(native, f(x), tolerance, tolerance)) << name(dtype);
  }
}

TEST(Launches, WithoutElements) {
  const auto f = [](Array x) {
    for (int i = 0; i < 40; ++i) x = sin(matmul(x, x)) + sum(x);
    return x;
  };
  EXPECT_EQ(jit(f)(zeros({0, 0})).shape(), (Shape{0, 0}));
}

}  // namespace
}  // namespace tenon
