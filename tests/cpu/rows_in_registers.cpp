// Rows of few elements are values of one nest over the rows, whatever a row's elements are turned, stacked, masked and
// summed by; and the numbers are those of the reference evaluator.
#include "tenon/kernel/passes/rows_in_registers.h"

#include <gtest/gtest.h>

#include <random>

#include "../by_oracle.h"
#include "../fuzzing.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/ir/print.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

int kernels(const kernel::Block& block) {
  int sum = 0;
  for (const kernel::Statement& s : block) {
    const auto* blocks = std::get_if<kernel::Blocks>(&s.held());
    sum += blocks != nullptr ? kernels(blocks->body) : 1;
  }
  return sum;
}

Array places(const std::vector<std::int64_t>& at, const std::vector<std::int64_t>& shape) {
  return array<std::int64_t>(at, shape);
}

// A 3 x 3 matrix with row i moved by i, in several spellings.
struct Spelling {
  const char* name;
  Array (*turn)(const Array& m);
};
Array rolled(const Array& row, std::int64_t by) {
  return by == 0 ? row : concatenate({row(slice(by, 3)), row(slice(0, by))}, 0);
}
const std::vector<std::int64_t> diagonals{0, 1, 2, 4, 5, 3, 8, 6, 7};
const Spelling spellings[]{
    {"Take", [](const Array& m) { return take(reshape(m, {9}), places(diagonals, {3, 3})); }},
    {"Index", [](const Array& m) { return reshape(reshape(m, {9})(places(diagonals, {9})), {3, 3}); }},
    {"Rolls", [](const Array& m) { return stack({m(0), rolled(m(1), 1), rolled(m(2), 2)}); }},
    {"Elements",
     [](const Array& m) {
       std::vector<Array> all;
       for (const std::int64_t at : diagonals) all.push_back(m(at / 3, at % 3));
       return reshape(stack(all), {3, 3});
     }},
    {"AlongAnAxis", [](const Array& m) { return take_along_axis(m, places({0, 1, 2, 1, 2, 0, 2, 0, 1}, {3, 3}), 1); }},
    {"Update",
     [](const Array& m) {
       return zeros_like(m)
           .at(places({0, 0, 0, 1, 1, 1, 2, 2, 2}, {3, 3}), places({0, 1, 2, 2, 0, 1, 1, 2, 0}, {3, 3}))
           .set(m);
     }},
    {"MaskAndSum",
     [](const Array& m) {
       std::vector<std::int32_t> mask(81, 0);
       for (std::size_t i = 0; i < 9; ++i) mask[9 * i + static_cast<std::size_t>(diagonals[i])] = 1;
       return reshape(sum(array<std::int32_t>(mask, {9, 9}) * reshape(m, {1, 9}), 1), {3, 3});
     }},
    {"Choice",
     [](const Array& m) {
       const Array row = iota(DType::i32, {3, 3}, 0), across = transpose(m);
       return where(row == 1, transpose(rolled(across, 1)), where(row == 2, transpose(rolled(across, 2)), m));
     }},
};
class Turned : public testing::TestWithParam<Spelling> {};

Array rounds(const Spelling& spelling, Array m) {
  const Array input = m;
  const auto column = [](const Array& c) {
    const Array a = c(0) + c(1), b = (c(1) ^ a) + 7, d = c(2) * b;
    return stack({a, b, d});
  };
  for (int i = 0; i < 3; ++i) m = spelling.turn(vmap(column, {.in_axes = {1}, .out_axes = 1})(m));
  return m + input;
}

TEST_P(Turned, IsOneKernel) {
  for (const std::int64_t states : {100, 1003}) {
    const auto f = vmap([](const Array& m) { return rounds(GetParam(), m); });
    const Array m = reshape(arange(9 * states), {states, 3, 3}) * 2654435;
    Array want;
    {
      const ByOracle oracle;
      want = f(m);
    }
    EXPECT_TRUE(all(jit(f)(m) == want).item<bool>()) << states;
    EXPECT_THAT(explain(jit(f))(m), testing::HasSubstr("native code: 1 kernels")) << states;
  }
}
INSTANTIATE_TEST_SUITE_P(All, Turned, testing::ValuesIn(spellings),
                         [](const auto& info) { return std::string(info.param.name); });

// Runs of every length, of elements of every width, read and written by whole vectors, whatever is left over. A
// repetition takes a fourth of them.
TEST(RowsInRegisters, RunsOfEveryLength) {
  std::size_t number = 0;
  for (const DType dtype : {DType::f32, DType::f64, DType::i8, DType::u16, DType::f16, DType::bool_, DType::c64})
    for (std::int64_t n = 1; n <= 18; ++n)
      for (const std::int64_t rows : {16, 37, 200}) {
        if (!fuzzing::takes(number++, 3, 4)) continue;
        const auto f = [&](const Array& x) {
          std::vector<Array> columns;
          for (std::int64_t k = 0; k < n; ++k) columns.push_back(x(all, (k + 1) % n) == x(all, k));
          const Array same = stack(columns, 1), turned = concatenate({x(all, slice(1, n)), x(all, slice(0, 1))}, 1);
          return std::pair(where(same, turned, x), sum(convert(same, DType::i32), 1));
        };
        const Array x = convert(reshape(arange(rows * n) % 5, {rows, n}), dtype);
        std::pair<Array, Array> want;
        {
          const ByOracle oracle;
          want = f(x);
        }
        const auto [y, count] = jit(f)(x);
        EXPECT_TRUE(all(y == want.first).item<bool>()) << name(dtype) << " " << n << " " << rows;
        EXPECT_TRUE(all(count == want.second).item<bool>()) << name(dtype) << " " << n << " " << rows;
      }
}

// A value of f64[rows, n], made of others.
Array step(std::mt19937_64& draw, const std::vector<Array>& values) {
  const auto below = [&](std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(draw); };
  const auto any = [&] { return values[values.size() - 1 - below(std::min<std::size_t>(values.size(), 4))]; };
  const Array x = any();
  const std::int64_t n = x.dim(1).value();
  const auto split = static_cast<std::int64_t>(below(static_cast<std::size_t>(n) + 1));
  switch (below(9)) {
    case 0:
      return x + reverse(any(), {1});
    case 1: {
      std::vector<std::int64_t> at;
      for (std::int64_t i = 0; i < n; ++i) at.push_back(static_cast<std::int64_t>(below(static_cast<std::size_t>(n))));
      return take(x, places(at, {n}), 1) * 0.5;
    }
    case 2:
      return concatenate({x(all, slice(split, n)), any()(all, slice(0, split))}, 1);
    case 3:
      return x - sum(any(), 1)(all, newaxis);
    case 4:
      return max(x, amax(any(), 1)(all, newaxis) * 0.9);
    case 5:
      return where(iota(DType::i32, x.shape(), 1) < split, x, any());
    case 6:
      return sin(x) * any();
    case 7:
      return x.at(all, n / 2).set(any()(all, 0));
    default:
      return any() * any() + any();
  }
}

TEST(RowsInRegisters, FuzzIsTheReference) {
  const std::int64_t programs = fuzzing::cases(60);
  for (std::int64_t i = 0; i < programs; ++i) {
    const std::uint64_t seed = fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i);
    std::mt19937_64 sizes(seed);
    const std::int64_t rows = std::array{1, 7, 16, 33, 500}[sizes() % 5],
                       n = 1 + static_cast<std::int64_t>(sizes() % 9);
    const int depth = 1 + static_cast<int>(sizes() % 20);
    const auto f = [&](const Array& x) {
      std::mt19937_64 draw(seed);
      std::vector<Array> values{x};
      for (int k = 0; k < depth; ++k) values.push_back(step(draw, values));
      return std::pair(values.back(), values[values.size() / 2]);
    };
    const Array x = sin(reshape(arange(rows * n, DType::f64), {rows, n}));
    std::pair<Array, Array> want;
    {
      const ByOracle oracle;
      want = f(x);
    }
    const auto [y, z] = jit(f)(x);
    EXPECT_TRUE(allclose(y, want.first, 1e-11, 1e-11)) << seed << "\n" << print(*trace(f)(x)) << fuzzing::repeat_with();
    EXPECT_TRUE(allclose(z, want.second, 1e-11, 1e-11)) << seed << fuzzing::repeat_with();
  }
}

}  // namespace
}  // namespace tenon
