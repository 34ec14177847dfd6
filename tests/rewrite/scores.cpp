// Attention of many heads, whose scores stay in the caches: as the evaluator has it, in the memory of a few rows.
#include "tenon/rewrite/scores.h"

#include <gtest/gtest.h>

#include "tenon/eval/evaluate.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/simplify.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/fuzzing.h"
#include "tests/peak_memory.h"

namespace tenon {
namespace {

struct Size {
  std::int64_t heads, rows, columns, features;
  std::size_t index;  // of the case
};
enum class Spelling { plain, divided_last, causal, one_mask, lengths };

Array drawn(std::uint64_t seed, const Shape& shape, DType dtype) {
  return convert(random::uniform(random::key(seed), shape) * 3.4F - 1.7F, dtype);
}

Array attention(Spelling spelling, const Array& q, const Array& k, const Array& v) {
  const Shape shape{q.dim(0), q.dim(1), k.dim(1)};
  const auto of_rows = [&](const Array& x) { return broadcast_in_dim(x, shape, {0, 1}); };
  const Array column = broadcast_in_dim(arange(shape[2], DType::i32), shape, {2});
  Array scores = einsum("hid,hjd->hij", q, k) * 0.25F;
  if (spelling == Spelling::causal)
    scores = where(column <= broadcast_in_dim(arange(shape[1], DType::i32), shape, {1}), scores, -1e30F);
  if (spelling == Spelling::one_mask) {
    const Shape matrix{shape[1], shape[2]};
    const auto along = [&](std::size_t axis) {
      return broadcast_in_dim(arange(matrix[axis], DType::i32), matrix, {static_cast<std::int64_t>(axis)});
    };
    scores = where(broadcast_in_dim(along(1) * along(1) <= along(0) * along(0), shape, {1, 2}), scores, -1e30F);
  }
  if (spelling == Spelling::lengths)
    scores = where(column < 100 + broadcast_in_dim(arange(shape[0], DType::i32), shape, {0}), scores, -1e30F);
  const Array p = exp(scores - of_rows(amax(scores, 2)));
  if (spelling == Spelling::divided_last)
    return einsum("hij,hjd->hid", p, v) / broadcast_in_dim(sum(p, 2), {q.dim(0), q.dim(1), v.dim(2)}, {0, 1});
  return einsum("hij,hjd->hid", p / of_rows(sum(p, 2)), v);
}

ProgramRef simplified(const ProgramRef& program) { return compose_views(simplify(inline_calls(program))); }
std::vector<Array> as_vector(const Array& a) { return {a}; }
std::vector<Array> as_vector(const std::tuple<Array, Array, Array>& t) {
  return {std::get<0>(t), std::get<1>(t), std::get<2>(t)};
}

double rounding(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 4e-3;
    case DType::bf16:
      return 3e-2;
    default:
      return dtype == DType::f32 ? 1e-5 : 1e-13;
  }
}

// Native code as the evaluator, and less memory than part of the scores take.
template <class F>
void expect_as_evaluated(const F& f, const Array& q, const Array& k, const Array& v, double scores,
                         const JitOptions& options = {}) {
  const ProgramRef program = trace(f)(q, k, v);
  EXPECT_TRUE(has_scores(*simplified(program))) << print(*simplified(program));
  // Code for any size is held against that for one, which is held against the evaluator.
  const bool varies = options.sizes == Sizes::symbolic || !options.named_sizes.empty();
  std::vector<Value> want;
  if (varies)
    for (const Array& x : as_vector(jit(f)(q, k, v))) want.push_back(x.value());
  else
    want = evaluate(*program, {}, std::vector{q.value(), k.value(), v.value()});
  const auto compiled = jit(f, options);
  compiled(q, k, v);
  std::vector<Array> got;
  const auto peak = static_cast<double>(peak_bytes_of([&] { got = as_vector(compiled(q, k, v)); }));
  EXPECT_LT(peak, 0.7 * scores * static_cast<double>(size_of(computed_in(q.dtype()))));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Array right = widened(Array(std::get<Buffer>(want[i])));
    const double scale = amax(abs(right)).item<double>();
    EXPECT_LT(amax(abs(widened(got[i]) - right)).item<double>(), rounding(q.dtype()) * (1 + scale)) << i;
  }
}

class Scores : public testing::TestWithParam<std::tuple<Size, DType>> {
 protected:
  template <class F>
  static void expect_as_evaluated(const F& f) {
    const auto& [size, dtype] = GetParam();
    tenon::expect_as_evaluated(f, drawn(1, {size.heads, size.rows, size.features}, dtype),
                               drawn(2, {size.heads, size.columns, size.features}, dtype),
                               drawn(3, {size.heads, size.columns, size.features}, dtype),
                               static_cast<double>(size.heads * size.rows * size.columns));
  }
};

TEST_P(Scores, OfEachSpelling) {
  for (const Spelling spelling :
       {Spelling::plain, Spelling::divided_last, Spelling::causal, Spelling::one_mask, Spelling::lengths}) {
    if (!fuzzing::takes(std::get<0>(GetParam()).index, static_cast<std::size_t>(spelling), 5)) continue;
    SCOPED_TRACE(static_cast<int>(spelling));
    expect_as_evaluated([=](const Array& q, const Array& k, const Array& v) { return attention(spelling, q, k, v); });
  }
}
TEST_P(Scores, OfGradients) {
  for (const Spelling spelling : {Spelling::plain, Spelling::one_mask}) {
    if (!fuzzing::takes(std::get<0>(GetParam()).index, spelling == Spelling::plain ? 1 : 0, 3)) continue;
    SCOPED_TRACE(static_cast<int>(spelling));
    const auto squares = [=](const Array& q, const Array& k, const Array& v) {
      return sum(square(attention(spelling, q, k, v)));
    };
    expect_as_evaluated(grad<0, 1, 2>(squares));
  }
}

// 5 heads are two for each of two threads and one that is left; rows of a head that is too large come 128 at a time,
// and fewer at the end.
INSTANTIATE_TEST_SUITE_P(Sizes, Scores,
                         testing::Values(std::tuple(Size{5, 256, 250, 16, 0}, DType::f32),
                                         std::tuple(Size{5, 200, 150, 17, 1}, DType::f64),
                                         std::tuple(Size{3, 700, 690, 16, 3}, DType::f32)));

// Rows of one matrix are shared by the threads, whose parts of the gradients of keys and values are summed at the end.
Array of_one_head(const Array& q, const Array& k, const Array& v) {
  const Array scores = matmul(q, transpose(k)) * 0.25F;
  const Array p = exp(scores - amax(scores, Axes(1).keepdims()));
  return matmul(p / sum(p, Axes(1).keepdims()), v);
}
// The gradient of the sum of squares in all three, of sums that are taken in f32.
template <class F>
auto gradient_of_squares(const F& f) {
  return grad<0, 1, 2>(
      [=](const Array& q, const Array& k, const Array& v) { return sum(square(widened(f(q, k, v)))); });
}
TEST(Scores, OfOneHead) {
  const std::int64_t rows = 1801, columns = 700;
  for (const DType dtype : {DType::f32}) {
    const Array q = drawn(1, {rows, 24}, dtype), k = drawn(2, {columns, 24}, dtype), v = drawn(3, {columns, 20}, dtype);
    expect_as_evaluated(of_one_head, q, k, v, static_cast<double>(rows * columns));
    expect_as_evaluated(gradient_of_squares(of_one_head), q, k, v, static_cast<double>(rows * columns));
  }
}

TEST(Scores, OfSizesThatVary) {
  const JitOptions all{.sizes = Sizes::symbolic},
      lengths{.named_sizes = {{0, {"T", ""}}, {1, {"S", ""}}, {2, {"S", ""}}}};
  for (const std::int64_t rows : {1500, 3001}) {
    const Array q = drawn(1, {rows, 24}, DType::f32), k = drawn(2, {1100, 24}, DType::f32),
                v = drawn(3, {1100, 20}, DType::f32);
    const double scores = static_cast<double>(rows) * 1100;
    for (const JitOptions& options : {all, lengths}) {
      expect_as_evaluated(of_one_head, q, k, v, scores, options);
      if (options.sizes != Sizes::symbolic)
        expect_as_evaluated(gradient_of_squares(of_one_head), q, k, v, scores, options);
    }
  }
  for (const std::int64_t heads : {2, 7}) {
    const auto of = [](const Array& q, const Array& k, const Array& v) { return attention(Spelling::plain, q, k, v); };
    const Array q = drawn(1, {heads, 1001, 16}, DType::f32), k = drawn(2, {heads, 700, 16}, DType::f32),
                v = drawn(3, {heads, 700, 16}, DType::f32);
    const JitOptions named{.named_sizes = {{0, {"H", "T", ""}}, {1, {"H", "S", ""}}, {2, {"H", "S", ""}}}};
    for (const JitOptions& options : {all, named}) {
      expect_as_evaluated(of, q, k, v, static_cast<double>(heads) * 1001 * 700, options);
      if (options.sizes != Sizes::symbolic)
        expect_as_evaluated(gradient_of_squares(of), q, k, v, static_cast<double>(heads) * 1001 * 700, options);
    }
  }
}

TEST(Scores, OfHalves) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto of = [](const Array& q, const Array& k, const Array& v) { return attention(Spelling::plain, q, k, v); };
    const Array q = drawn(1, {5, 300, 32}, dtype), k = drawn(2, {5, 400, 32}, dtype), v = drawn(3, {5, 400, 32}, dtype);
    expect_as_evaluated(of, q, k, v, 5 * 300 * 400);
    expect_as_evaluated(gradient_of_squares(of), q, k, v, 5 * 300 * 400);
    if (fuzzing::is_repetition()) break;  // the evaluator takes long for halves
    const Array q1 = drawn(1, {1801, 24}, dtype), k1 = drawn(2, {700, 24}, dtype), v1 = drawn(3, {700, 20}, dtype);
    expect_as_evaluated(of_one_head, q1, k1, v1, 1801 * 700);
    expect_as_evaluated(gradient_of_squares(of_one_head), q1, k1, v1, 1801 * 700);
  }
}

// Heads behind the batch or behind the rows, whose matrices do not lie behind each other.
TEST(Scores, OfHeadsInEveryLayout) {
  for (const auto& [make, take, shape] : {std::tuple("bhid,bhjd->bhij", "bhij,bhjd->bhid", Shape{2, 3, 260, 16}),
                                          {"bihd,bjhd->bhij", "bhij,bjhd->bihd", {2, 260, 3, 16}},
                                          {"ibhd,jbhd->bhij", "bhij,jbhd->ibhd", {260, 2, 3, 16}}}) {
    if (fuzzing::is_repetition() && shape[0] != Dim(2)) continue;
    SCOPED_TRACE(make);
    const auto squares = [make = make, take = take](const Array& q, const Array& k, const Array& v) {
      const Array scores = einsum(make, q, k) * 0.25F;
      const Array p = exp(scores - amax(scores, Axes(3).keepdims()));
      return sum(square(einsum(take, p / sum(p, Axes(3).keepdims()), v)));
    };
    const auto f = grad<0, 1, 2>(squares);
    const Array q = drawn(1, shape, DType::f32), k = drawn(2, shape, DType::f32), v = drawn(3, shape, DType::f32);
    const ProgramRef program = trace(f)(q, k, v);
    EXPECT_TRUE(has_scores(*simplified(program))) << print(*simplified(program));
    const std::vector<Value> want = evaluate(*program, {}, std::vector{q.value(), k.value(), v.value()});
    const std::vector<Array> got = as_vector(jit(f)(q, k, v));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Array right(std::get<Buffer>(want[i]));
      EXPECT_LT(amax(abs(got[i] - right)).item<double>(), 1e-5 * (1 + amax(abs(right)).item<double>())) << i;
    }
  }
}

TEST(Scores, WhatIsNone) {
  const auto is = [](const auto& f, const Shape& shape) {
    const Array x = zeros(shape, DType::f32);
    return has_scores(*simplified(trace(f)(x)));
  };
  const auto take = [](const auto& between) {
    return [=](const Array& x) { return einsum("hij,hjd->hid", between(einsum("hid,hjd->hij", x, x)), x); };
  };
  const auto along_rows = [](const Array& s) { return s / sum(s, Axes(2).keepdims()); };
  EXPECT_TRUE(is(take([](const Array& s) { return exp(s); }), {4, 256, 32}));
  EXPECT_TRUE(is(take(along_rows), {1, 600, 32})) << "one matrix of many";
  EXPECT_FALSE(is(take(along_rows), {1, 400, 32})) << "one matrix of few";
  EXPECT_FALSE(is(take([](const Array& s) { return exp(s); }), {1, 600, 32})) << "one matrix of pairs";
  EXPECT_FALSE(is(take([](const Array& s) { return exp(s); }), {4, 64, 32})) << "small";
  EXPECT_FALSE(is(take([](const Array& s) { return exp(s); }), {4, 256, 8})) << "few terms";
  EXPECT_FALSE(is(take([](const Array& s) { return s / sum(s, Axes(1).keepdims()); }), {4, 256, 32}))
      << "down the columns";
  EXPECT_FALSE(is([&](const Array& x) { return concatenate({take([](const Array& s) { return exp(s); })(x), x}, 1); },
                  {4, 256, 32}))
      << "beside another";
  EXPECT_FALSE(is([](const Array& x) { return exp(einsum("hid,hjd->hij", x, x)); }, {4, 256, 32})) << "a result";
}

}  // namespace
}  // namespace tenon
