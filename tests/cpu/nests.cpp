// Statements of the loop language as native code, where their order or their form matters.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tenon/compile/codegen.h"

namespace tenon {
namespace {

using kernel::Expr;
using kernel::Nest;
using kernel::Store;

Expr number(float v) { return kernel::constant(DType::f32, &v); }

// A function of f32 arguments of these sizes.
struct Arguments {
  std::vector<std::vector<float>> arrays;
  kernel::Function function{.name = "nests"};

  explicit Arguments(std::vector<std::vector<float>> values) : arrays(std::move(values)) {
    for (const auto& a : arrays)
      function.slots.push_back({.dtype = DType::f32,
                                .elements = static_cast<std::int64_t>(a.size()),
                                .place = kernel::Slot::Place::argument,
                                .argument = function.arguments++});
  }
  void run() {
    std::vector<void*> pointers;
    for (auto& a : arrays) pointers.push_back(a.data());
    EXPECT_EQ(compile_native(function)->entry(pointers.data(), nullptr, &never_cancelled), 0);
  }
};

// Values are computed before the first is stored: a and b change places.
TEST(Nests, ScalarsChangePlaces) {
  Arguments f({{1}, {10}});
  const Expr a = kernel::load(0, DType::f32, Expr(0)), b = kernel::load(1, DType::f32, Expr(0));
  f.function.vars = 1;
  f.function.body = {kernel::For{
      .var = 0,
      .count = 5,
      .body = {Nest{{}, {}, {Store{0, Expr(0), b * number(2), {}}, Store{1, Expr(0), a * number(3), {}}}}}}};
  f.run();
  EXPECT_EQ(f.arrays[0][0], 720);
  EXPECT_EQ(f.arrays[1][0], 108);
}

TEST(Nests, RowsChangePlaces) {
  for (const std::int64_t n : {3, 8, 21, 64, 100, 1000}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<float> x(size), y(size);
    for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<float>(i), y[i] = -static_cast<float>(i);
    Arguments f({x, y});
    const Expr i = kernel::variable(0), a = kernel::load(0, DType::f32, i), b = kernel::load(1, DType::f32, i);
    f.function.vars = 1;
    f.function.body = {Nest{{0}, {n}, {Store{0, i, b + number(1), {}}, Store{1, i, a * number(2), {}}}}};
    f.run();
    for (std::size_t k = 0; k < size; ++k) {
      EXPECT_EQ(f.arrays[0][k], y[k] + 1);
      EXPECT_EQ(f.arrays[1][k], x[k] * 2);
    }
  }
}

// The last step of a row is moved back to end with it, unless the nest overwrites what it reads.
TEST(Nests, RowsOfEverySize) {
  for (std::int64_t n = 1; n < 300; n += n < 140 ? 1 : 13) {
    const auto size = static_cast<std::size_t>(n);
    Arguments f({std::vector<float>(size, 1), std::vector<float>(size + 1, 7)});
    const Expr i = kernel::variable(0), x = kernel::load(0, DType::f32, i);
    Expr heavy = x;
    for (int k = 0; k < 8; ++k)
      heavy = kernel::unary(kernel::Unary::sqrt, heavy) + kernel::unary(kernel::Unary::tanh, x);
    f.function.vars = 1;
    f.function.body = {Nest{{0}, {n}, {Store{1, i, x + number(1), {}}}}, Nest{{0}, {n}, {Store{0, i, x + x, {}}}},
                       Nest{{0}, {n}, {Store{0, i, heavy * number(0) + x * number(2), {}}}}};
    f.run();
    for (std::size_t k = 0; k < size; ++k) {
      ASSERT_EQ(f.arrays[0][k], 4) << n;
      ASSERT_EQ(f.arrays[1][k], 2) << n;
    }
    EXPECT_EQ(f.arrays[1][size], 7) << n;
  }
}

// Outputs too large for any cache are written past it where they are aligned; where not, as others.
TEST(Nests, LargeOutputsAlignedOrNot) {
  constexpr std::int64_t n = (64 << 20) / 4 + 64;
  for (const std::size_t shift : {0, 1}) {
    std::vector<float> x(n), y(n + 32);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000);
    kernel::Function f{.name = "large"};
    for (std::uint32_t k = 0; k < 2; ++k)
      f.slots.push_back({.dtype = DType::f32, .elements = n, .place = kernel::Slot::Place::argument, .argument = k});
    f.arguments = 2, f.vars = 1;
    const Expr i = kernel::variable(0);
    f.body = {Nest{{0}, {n}, {Store{1, i, kernel::load(0, DType::f32, i) + number(1), {}}}}};
    void* to = y.data();
    std::size_t space = y.size() * 4;
    std::align(64, n * 4, to, space);
    float* out = static_cast<float*>(to) + shift;
    void* pointers[]{x.data(), out};
    EXPECT_EQ(compile_native(f)->entry(pointers, nullptr, &never_cancelled), 0);
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(out[k], x[k] + 1) << k;
  }
}

}  // namespace
}  // namespace tenon
