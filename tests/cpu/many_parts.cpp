// Concatenations of so many arrays that they are stored part by part, against the evaluator.
#include <gtest/gtest.h>

#include "../by_oracle.h"
#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Array wave(const Shape& shape, double phase) {
  return reshape(sin(arange(shape.elements().value(), DType::f64) * 0.7 + phase), shape);
}

// What reads a concatenation in one way each.
const std::vector<std::pair<const char*, Array (*)(const Array&)>> readers{
    {"as it is", [](const Array& x) { return x; }},
    {"elementwise", [](const Array& x) { return sin(x) * x; }},
    {"its sum", [](const Array& x) { return sum(x * x); }},
    {"sums of rows", [](const Array& x) { return sum(exp(x), -1); }},
    {"a slice", [](const Array& x) { return slice(x, {3, 1}, {17, 2}) * 2.0; }},
    {"elements", [](const Array& x) { return take(x, Array{5, 0, 11, 5}, 0); }},
    {"a product", [](const Array& x) { return matmul(x, transpose(x)); }},
    {"turned around", [](const Array& x) { return reverse(x, {0, 1}) + x; }},
    {"an update", [](const Array& x) { return x.at(2).add(1.0); }},
    {"a loop",
     [](const Array& x) {
       return scan([](const Array& c, const Array& row) { return std::pair(c + row, c * 0.5); }, x(0), x).second;
     }},
};

void expect_as_evaluated(const std::function<Array(const Array&)>& whole, const Array& x) {
  for (const auto& [name, read] : readers) {
    const auto f = [&, read = read](const Array& x) { return read(whole(x)); };
    const auto g = grad([&](const Array& x) { return sum(f(x) * f(x)); });
    const Array native = jit(f)(x), native_gradient = jit(g)(x), lanes = jit(vmap(f))(stack({x, x * 0.5}));
    const ByOracle oracle;
    EXPECT_TRUE(allclose(native, f(x), 1e-12, 1e-12)) << name;
    EXPECT_TRUE(allclose(native_gradient, g(x), 1e-11, 1e-11)) << name;
    EXPECT_TRUE(allclose(lanes, vmap(f)(stack({x, x * 0.5})), 1e-12, 1e-12)) << name;
  }
}

TEST(ManyParts, OfComputedRows) {
  expect_as_evaluated(
      [](Array x) {
        std::vector<Array> rows;
        for (int i = 0; i < 20; ++i) rows.push_back(x = tanh(x * 1.1 + 0.1 * i));
        return stack(rows);
      },
      wave({3}, 0));
}

TEST(ManyParts, OfDifferentSizesAlongEachAxis) {
  expect_as_evaluated(
      [](const Array& x) {
        std::vector<Array> parts;
        for (int i = 0; i < 20; ++i) parts.push_back(slice(x * (1 + 0.1 * i), {0, 0}, {i % 3, 2}));
        return concatenate(parts, 0);
      },
      wave({2, 2}, 1));
  expect_as_evaluated(
      [](const Array& x) {
        std::vector<Array> parts;
        for (int i = 0; i < 18; ++i) parts.push_back(i % 5 == 0 ? x : slice(cos(x), {0, 0}, {20, i % 4}));
        return concatenate(parts, 1);
      },
      wave({20, 3}, 2));
}

TEST(ManyParts, OfWhatOthersReadToo) {
  expect_as_evaluated(
      [](const Array& x) {
        std::vector<Array> rows;
        const Array shared = exp(x);
        for (int i = 0; i < 20; ++i) rows.push_back(i % 2 == 0 ? shared : shared * i);
        const Array whole = stack(rows);
        return whole + sum(whole, 0) * shared;
      },
      wave({3}, 3));
}

TEST(ManyParts, InLoops) {
  const auto f = [](const Array& x) {
    return scan(
               [](const Array& c, const Array& x) {
                 std::vector<Array> parts;
                 for (int i = 0; i < 20; ++i) parts.push_back(sin(c * (i + 1.0)) * x);
                 const Array whole = stack(parts);
                 return std::pair(mean(whole, 0), whole);
               },
               x(0), x)
        .second;
  };
  const auto g = grad([&](const Array& x) { return sum(f(x) * f(x)); });
  const Array x = wave({5, 4}, 4), native = jit(f)(x), native_gradient = jit(g)(x);
  const ByOracle oracle;
  EXPECT_TRUE(allclose(native, f(x), 1e-12, 1e-12));
  EXPECT_TRUE(allclose(native_gradient, g(x), 1e-10, 1e-10));
}

// No element is chosen among the parts by comparing.
TEST(ManyParts, AreNotCompared) {
  const auto f = [](const Array& x) {
    std::vector<Array> rows;
    for (int i = 0; i < 100; ++i) rows.push_back(sin(x * i));
    return sum(stack(rows) * 2.0);
  };
  const std::string text = kernel::print(plan(*run_passes(compile_passes(), trace(f)(wave({3}, 0)))).function);
  EXPECT_EQ(text.find("select"), std::string::npos);
}

}  // namespace
}  // namespace tenon
