// Statements of the loop language as native code, where their order or their form matters.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tenon/compile/native/codegen.h"

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

// Rows added at indices that repeat, where a number of the row says so: row r of 5 goes to row places[r].
TEST(Nests, RowsInOrderAtIndices) {
  for (const std::int64_t n : {1, 3, 16, 17, 40, 64, 200}) {
    const auto size = static_cast<std::size_t>(n);
    const std::vector<float> places{2, 0, 2, 1, 2};
    std::vector<float> rows;
    for (std::size_t k = 0; k < 5 * size; ++k) rows.push_back(static_cast<float>(k % 97));
    Arguments f({std::vector<float>(3 * size, 1), rows, places});
    const Expr r = kernel::variable(0), i = kernel::variable(1), place = kernel::load(2, DType::f32, r);
    const Expr to = kernel::convert(DType::i64, place) * Expr(n) + i;
    const Expr value = kernel::load(0, DType::f32, to) * number(2) + kernel::load(1, DType::f32, r * Expr(n) + i);
    f.function.vars = 2;
    f.function.body = {
        Nest{{0, 1}, {5, n}, {Store{0, to, value, kernel::binary(kernel::Binary::gt, place, number(0))}}, false}};
    f.run();
    for (std::size_t k = 0; k < size; ++k) {
      EXPECT_EQ(f.arrays[0][k], 1);
      EXPECT_EQ(f.arrays[0][size + k], 2 + rows[3 * size + k]);
      EXPECT_EQ(f.arrays[0][2 * size + k], 8 + 4 * rows[k] + 2 * rows[2 * size + k] + rows[4 * size + k]);
    }
  }
}

// Elements of a row that read the one before them are not computed together.
TEST(Nests, ElementsInOrder) {
  Arguments f({std::vector<float>(101, 1)});
  const Expr i = kernel::variable(0);
  f.function.vars = 1;
  f.function.body = {Nest{{0}, {100}, {Store{0, i + Expr(1), kernel::load(0, DType::f32, i) + number(1), {}}}, false}};
  f.run();
  for (std::size_t k = 0; k < 101; ++k) EXPECT_EQ(f.arrays[0][k], static_cast<float>(k) + 1);
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
