// Gradients of loops whose steps make a row of pairs: nothing as large as all pairs is kept, and they are what
// gradients of all pairs at once are.
#include "tenon/transform/made_again.h"

#include <gtest/gtest.h>

#include "tenon/base/settings.h"
#include "tenon/tenon.h"
#include "tests/peak_memory.h"

namespace tenon {
namespace {

constexpr std::int64_t points = 900, others = 700, features = 3, steps = 12;

Array drawn(std::uint64_t seed, const Shape& shape, DType dtype) {
  return convert(random::normal(random::key(seed), shape), dtype);
}

// A row of the Gaussian kernel, times weights, in several spellings.
using Row = Array (*)(const Array& x, const Array& y, const Array& b);
const std::vector<std::pair<const char*, Row>> rows{
    {"Distances", [](const Array& x, const Array& y, const Array& b) { return dot(exp(-sum(square(x - y), 1)), b); }},
    {"Products",
     [](const Array& x, const Array& y, const Array& b) {
       const Array s = dot(y, x), top = amax(s);
       const Array e = exp(s - top);
       return dot(e, b) / sum(e);
     }},
    {"LargestDifference",
     [](const Array& x, const Array& y, const Array& b) { return dot(exp(-amax(abs(x - y), 1)), b); }},
    {"OfSumsOfSums",
     [](const Array& x, const Array& y, const Array& b) {
       const Array d = x - y, far = sum(d * d, 1);
       return dot(sum(d * expand_dims(1.0 / (1.0 + far), 1), 1), b) + logsumexp(-far);
     }},
};

using Loss = Array (*)(Row row, const Array& x, const Array& y, const Array& b);
const std::vector<std::pair<const char*, Loss>> loops{
    {"Map", [](Row row, const Array& x, const Array& y,
               const Array& b) { return sum(square(map([&](const Array& xi) { return row(xi, y, b); }, x))); }},
    {"Scan",
     [](Row row, const Array& x, const Array& y, const Array& b) {
       const auto step = [&](const Array& all, const Array& xi) {
         return std::pair(all + square(row(xi, y, b)), std::tuple<>());
       };
       return scan(step, zeros({}, x.dtype()), x).first;
     }},
    {"ForiLoop",
     [](Row row, const Array& x, const Array& y, const Array& b) {
       return sum(square(fori_loop(
           0, points, [&](const Array& i, const Array& made) { return made.at(i).set(row(x(i), y, b)); },
           zeros({x.dim(0)}, x.dtype()))));
     }},
};
Array of_lanes(Row row, const Array& x, const Array& y, const Array& b) {
  return sum(square(vmap([&](const Array& xi) { return row(xi, y, b); })(x)));
}

double distance(const Array& a, const Array& b) { return amax(abs(a - b)).item<double>(); }

class MadeAgain : public testing::TestWithParam<DType> {};

TEST_P(MadeAgain, RowsOfPairs) {
  const DType dtype = GetParam();
  const Array x = drawn(1, {points, features}, dtype), y = drawn(2, {others, features}, dtype);
  const Array b = drawn(3, {others}, dtype);
  const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-4;
  for (const auto& [of_row, row] : rows) {
    const auto want =
        grad<0, 1, 2>([=](const Array& x, const Array& y, const Array& b) { return of_lanes(row, x, y, b); })(x, y, b);
    for (const auto& [of_loop, loss] : loops) {
      SCOPED_TRACE(std::string(of_row) + " in " + of_loop);
      const auto gradient =
          jit(grad<0, 1, 2>([=](const Array& x, const Array& y, const Array& b) { return loss(row, x, y, b); }));
      const auto got = gradient(x, y, b);
      if (!blocks_are_small()) {  // which move products in front of loops
        EXPECT_LT(peak_bytes_of([&] { gradient(x, y, b); }), points * others * size_of(dtype) / 4);
      }
      const auto close = [&](const Array& g, const Array& w) {
        EXPECT_LT(distance(g, w), tolerance * (1 + amax(abs(w)).item<double>()));
      };
      close(std::get<0>(got), std::get<0>(want));
      close(std::get<1>(got), std::get<1>(want));
      close(std::get<2>(got), std::get<2>(want));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Of, MadeAgain, testing::Values(DType::f64, DType::f32));

// All bodies attract each other: a step's pairs are made of what it carries.
Array attracted(const Array& start, std::int64_t count) {
  const auto step = [](const Array& at) {
    const Array away = expand_dims(at, 0) - expand_dims(at, 1);
    const Array far = sum(square(away), 2) + 0.1;
    return at + 1e-4 * sum(away * expand_dims(1.0 / (far * sqrt(far)), 2), 1);
  };
  return sum(square(fori_loop(0, count, [&](const Array&, const Array& at) { return step(at); }, start)));
}
TEST(MadeAgain, StepsOfBodies) {
  const Array start = drawn(4, {400, features}, DType::f64);
  const auto gradient = jit(grad([](const Array& start) { return attracted(start, steps); }));
  const Array got = gradient(start);
  EXPECT_LT(peak_bytes_of([&] { gradient(start); }), 400 * 400 * 8);
  // Along a direction, beside differences.
  const Array along = drawn(5, start.shape(), DType::f64);
  const double h = 1e-5;
  const Array difference = (attracted(start + h * along, steps) - attracted(start - h * along, steps)) / (2 * h);
  EXPECT_NEAR(sum(got * along).item<double>(), difference.item<double>(), 1e-6 * std::abs(difference.item<double>()));
  // Of lanes, and the gradient's own derivative.
  const auto of_lanes = jit(vmap(grad([](const Array& start) { return attracted(start, 3); })));
  const Array one = start(Slice{0, 40}), both = of_lanes(stack({one, 2.0 * one}));
  EXPECT_LT(distance(both(1), grad([](const Array& start) { return attracted(start, 3); })(2.0 * one)), 1e-11);
}

// What is no larger than what it is made of, is of many terms, or stays in a cache is kept.
TEST(MadeAgain, TheRestIsKept) {
  const auto eqns_again = [](Dim x_rows, Dim x_columns, Dim columns, Dim of_steps) {
    Scope scope;
    const Array weights = scope.input(Type::array(DType::f64, {x_columns, columns}));
    const Array x = scope.input(Type::array(DType::f64, {x_rows, x_columns}));
    const ProgramRef body = scope.finish(Arrays{dot(x, weights)}).program;
    const std::vector<bool> again =
        sums_made_again(*body, {.known_in = {true, true}, .first_carry = 1, .steps = of_steps});
    return std::ranges::count(again, true);
  };
  EXPECT_EQ(eqns_again(64, 8, 256, 1000), 1);
  EXPECT_EQ(eqns_again(64, 8, 256, 4), 0);        // a cache holds them
  EXPECT_EQ(eqns_again(64, 256, 4096, 1000), 0);  // many terms
  EXPECT_EQ(eqns_again(64, 128, 256, 1000), 0);   // not far larger
}

}  // namespace
}  // namespace tenon
