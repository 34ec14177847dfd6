// Rows of arrays in another shape: nests whose index is divided, as native code, against the evaluator.
#include <gtest/gtest.h>

#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/eval/evaluate.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"
#include "tests/fuzzing.h"

namespace tenon {
namespace {

using Function = std::function<Array(const std::vector<Array>&)>;

void expect_same(const char* what, const Function& f, const std::vector<Array>& in, double tolerance = 1e-14) {
  const ProgramRef program = flattened(trace(f)(in));
  std::vector<Value> values;
  for (const Array& x : in) values.emplace_back(x.to_buffer());
  const auto numbers = [](const Value& v) {
    const Buffer b = std::get<Buffer>(v).contiguous_copy();
    return std::vector<double>(b.as<double>(), b.as<double>() + b.elements());
  };
  const auto got = numbers(compile(program)->run(values)[0]), want = numbers(evaluate(*program, {}, values)[0]);
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::abs(got[i] - want[i]), tolerance * std::abs(want[i])) << what << " at " << i << " of " << got.size();
}

Array drawn(const Shape& shape) { return random::uniform(random::key(3), shape, DType::f64, 0.5, 1.5); }

// m rows of n elements as one row, and parts of it; of rows that are long enough to count by themselves and of short
// ones.
TEST(DividedAxes, RowsAsOne) {
  std::size_t number = 0;
  for (const std::int64_t n : {1, 2, 15, 16, 17, 100, 256, 1000})
    for (const std::int64_t m : {1, 63, 64, 65, 300}) {
      if (!fuzzing::takes(number++, 3, 4)) continue;
      const std::vector<Array> in{drawn({m}), drawn({n})};
      const auto outer = [](const auto& x) { return expand_dims(x[0], 1) * x[1]; };
      const auto whole = [=](const auto& x) { return reshape(outer(x), {m * n}); };
      expect_same("a row", whole, in);
      expect_same("what is made of it", [=](const auto& x) { return 1 / (whole(x) + 2) + reverse(whole(x), {0}); }, in);
      expect_same("all but the last", [=](const auto& x) { return slice_in_dim(whole(x), 0, m * n - 1, 0); }, in);
      expect_same("from the middle on", [=](const auto& x) { return slice_in_dim(whole(x), m * n / 2, m * n, 0); }, in);
      expect_same("a sum", [=](const auto& x) { return sum(whole(x) * whole(x)); }, in, 1e-12);
      expect_same("sums", [=](const auto& x) { return cumsum(whole(x), 0); }, in, 1e-12);
      expect_same("two behind each other", [=](const auto& x) { return concatenate({whole(x), 2 * whole(x)}, 0); }, in);
      expect_same("with numbers", [=](const auto& x) { return whole(x) + iota(DType::f64, {m * n}, 0); }, in);
    }
}

TEST(DividedAxes, OfSeveralShapes) {
  const std::vector<Array> in{drawn({96, 1, 1}), drawn({20, 1}), drawn({32})};
  const auto all = [](const auto& x) { return x[0] * x[1] + x[2]; };
  for (const Shape& shape :
       {Shape{Dim(61440)}, Shape{Dim(1920), Dim(32)}, Shape{Dim(96), Dim(640)}, Shape{Dim(48), Dim(1280)},
        Shape{Dim(3072), Dim(20)}, Shape{Dim(15), Dim(4096)}, Shape{Dim(2), Dim(3), Dim(10240)}}) {
    expect_same("in another shape", [=](const auto& x) { return reshape(all(x), shape); }, in);
    expect_same(
        "summed along the last axis", [=](const auto& x) { return sum(reshape(all(x), shape), -1); }, in, 1e-12);
    expect_same(
        "summed along the first axis", [=](const auto& x) { return sum(reshape(all(x), shape), 0); }, in, 1e-12);
    expect_same(
        "with another of that shape",
        [=](const auto& x) { return reshape(all(x), shape) * drawn(shape) + sin(drawn(shape)); }, in, 1e-12);
  }
  // A loop that carries what is in another shape.
  expect_same(
      "in a loop",
      [](const auto& x) {
        return fori_loop(
            0, 3,
            [&](const Array&, const Array& c) {
              return reshape(expand_dims(x[0](tenon::all, 0, 0), 1) * reshape(c, {96, 32}), {3072});
            },
            repeat(x[2], 96));
      },
      in, 1e-12);
}

}  // namespace
}  // namespace tenon
