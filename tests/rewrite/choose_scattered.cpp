// Scatters of few elements a row: none is left, and results stay what they were, to the bit.
#include "tenon/rewrite/choose_scattered.h"

#include <gtest/gtest.h>

#include "tenon/ir/print.h"
#include "tenon/rewrite/simplify.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

bool has_scatters(const Program& p) {
  return std::ranges::any_of(p.eqns(), [](const Eqn& eqn) { return eqn.op == &scatter_op(); });
}
// Rows of `size` elements along an axis of zeros, of which one each is added to.
Array added(const Array& indices, const Array& updates, std::int64_t axis, std::int64_t size, IndexMode mode) {
  const Shape rows = updates.shape();
  const Array zero = zeros(rows.with_axis(static_cast<std::size_t>(axis), size), updates.dtype());
  IndexAxes axes;
  axes.collapsed = axes.map = {axis};
  for (std::int64_t a = 0, k = 0; a < static_cast<std::int64_t>(zero.rank()); ++a)
    if (a != axis) axes.batch.push_back(a), axes.indices_batch.push_back(k++);
  return scatter(ScatterKind::add, zero, expand_dims(indices, -1), updates, axes, {.mode = mode});
}

struct Scattered {
  std::int64_t axis;
  IndexMode mode;
  DType dtype;
};
class Chosen : public testing::TestWithParam<Scattered> {};
TEST_P(Chosen, IsWhatAScatterAdds) {
  const auto [axis, mode, dtype] = GetParam();
  const auto f = [&](const Array& indices, const Array& updates) {
    return added(indices, updates, axis, 40, mode) * Array(Scalar(2).convert(dtype));
  };
  Array indices = remainder(arange(15) * 7, 40).with_weak(false);
  if (mode != IndexMode::promise_in_bounds)  // some lie outside
    indices = indices + where(arange(15) % 4 == 0, 40, 0) - where(arange(15) % 5 == 0, 50, 0);
  indices = reshape(indices, {3, 5});
  const Array updates = convert(arange(15) + 1, dtype);
  const ProgramRef p = inline_calls(trace(f)(indices, reshape(updates, {3, 5}))), q = choose_scattered(p);
  EXPECT_TRUE(has_scatters(*p));
  EXPECT_FALSE(has_scatters(*q)) << q;
  const std::vector<Value> in{indices.value(), reshape(updates, {3, 5}).value()};
  expect_same(p, q, in);
  expect_native({jit(f)(indices, reshape(updates, {3, 5}))}, evaluate(*p, {}, in), dtype);
}
INSTANTIATE_TEST_SUITE_P(All, Chosen,
                         testing::Values(Scattered{0, IndexMode::fill, DType::f32},
                                         Scattered{1, IndexMode::promise_in_bounds, DType::f64},
                                         Scattered{2, IndexMode::clip, DType::bf16},
                                         Scattered{2, IndexMode::fill, DType::i32},
                                         Scattered{1, IndexMode::clip, DType::c64}));

// Up to four for each row, some of them at the same place, along the last axis or another.
TEST(Chosen, SeveralOfEachRow) {
  for (const std::int64_t count : {2, 3, 4, 5}) {
    for (const std::int64_t along : {0, 2}) {
      const Shape shape = along == 2 ? Shape{3, 5, count} : Shape{count, 3, 5};
      const auto f = [&](const Array& indices, const Array& updates) {
        const std::int64_t first = along == 2 ? 0 : 1;
        const IndexAxes axes{{}, {2}, {2}, {0, 1}, {first, first + 1}};
        return scatter(ScatterKind::add, zeros({3, 5, 200}, DType::f32), expand_dims(indices, -1), updates, axes,
                       {.mode = IndexMode::fill});
      };
      const Array number = arange(shape.elements()), updates = convert(reshape(number + 1, shape), DType::f32);
      const Array indices = reshape(remainder(number * 7, 40) - where(number % 5 == 0, 50, 0), shape);
      const ProgramRef p = inline_calls(trace(f)(indices, updates)), q = choose_scattered(p);
      EXPECT_EQ(has_scatters(*q), count == 5) << q;
      const std::vector<Value> in{indices.value(), updates.value()};
      expect_same(p, q, in);
      expect_native({jit(f)(indices, updates)}, evaluate(*p, {}, in), DType::f32);
    }
  }
}
// Of each lane one row, whole.
TEST(Chosen, RowsOfLanes) {
  for (const IndexMode mode : {IndexMode::fill, IndexMode::clip, IndexMode::promise_in_bounds}) {
    const auto f = [&](const Array& at, const Array& rows) {
      const IndexAxes axes{{1}, {0}, {0}, {1}, {0}};
      return scatter(ScatterKind::add, zeros({40, 5, 3}, DType::f32), expand_dims(at, -1), rows, axes, {.mode = mode});
    };
    Array at = arange(5) * 9;
    if (mode != IndexMode::promise_in_bounds) at = at + where(at == 9, 60, 0) - where(at == 18, 20, 0);
    const Array rows = convert(reshape(arange(15) + 1, {5, 3}), DType::f32);
    const ProgramRef p = inline_calls(trace(f)(at, rows)), q = choose_scattered(p);
    EXPECT_FALSE(has_scatters(*q)) << q;
    expect_same(p, q, {at.value(), rows.value()});
    expect_native({jit(f)(at, rows)}, evaluate(*p, {}, std::vector{at.value(), rows.value()}), DType::f32);
  }
}
TEST(Chosen, LabelsThatIndexArraysName) {
  const auto loss = [](const Array& x, const Array& labels) { return -mean(log_softmax(x)(arange(8), labels)); };
  const Array x = reshape(sin(arange(320, DType::f64)), {8, 40}), labels = arange(8) * 4;
  const ProgramRef p = simplify(inline_calls(trace(grad<0>(loss))(x, labels))), q = choose_scattered(p);
  EXPECT_FALSE(has_scatters(*q)) << q;
  expect_same(p, q, {x.value(), labels.value()});
}

TEST(Chosen, LabelsOfACrossEntropy) {
  const auto loss = [](const Array& x, const Array& labels) {
    return -mean(take_along_axis(log_softmax(x), expand_dims(labels, 1), 1));
  };
  const Array x = reshape(sin(arange(320, DType::f64)), {8, 40}), labels = arange(8) * 4;
  const ProgramRef p = inline_calls(trace(grad<0>(loss))(x, labels)), q = choose_scattered(p);
  EXPECT_FALSE(has_scatters(*q)) << q;
  expect_same(p, q, {x.value(), labels.value()});
}
// Several elements a row, and rows that have something already.
TEST(NotChosen, OtherScatters) {
  const Array rows = arange(8), x = ones({8, 40}, DType::f32);
  for (const auto& f : std::vector<std::function<Array(const Array&)>>{
           [&](const Array& v) { return scatter_add(zeros({8, 40}, DType::f32), rows, expand_dims(v, 1) * x); },
           [&](const Array& v) { return x.at(rows, 3).add(v); },
           [&](const Array& v) { return zeros({40}, DType::f32).at(rows).add(v); }}) {
    const ProgramRef p = inline_calls(trace(f)(ones({8}, DType::f32)));
    EXPECT_EQ(choose_scattered(p)->hash(), p->hash()) << p;
  }
}

}  // namespace
}  // namespace tenon
