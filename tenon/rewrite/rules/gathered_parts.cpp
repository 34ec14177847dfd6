// Parts of what is gathered, and of what is scattered: fewer indices, in place of results that nothing reads and of
// updates that are 0.
#include <cmath>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/moves.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

// Of each axis, where a part begins, how many elements it has, and their distance.
struct PartOf {
  std::vector<Dim> start, count;
  std::vector<std::int64_t> stride;

  explicit PartOf(const Shape& whole) : start(whole.rank(), Dim(0)), count(whole.dims()), stride(whole.rank(), 1) {}
  void set(std::size_t axis, const PartOf& other, std::size_t of_axis) {
    start[axis] = other.start[of_axis], count[axis] = other.count[of_axis], stride[axis] = other.stride[of_axis];
  }
  bool is_whole(std::size_t axis, const Shape& whole) const {
    return start[axis] == Dim(0) && stride[axis] == 1 && count[axis] == whole[axis];
  }
  bool is_whole(const Shape& whole) const {
    for (std::size_t axis = 0; axis < whole.rank(); ++axis)
      if (!is_whole(axis, whole)) return false;
    return true;
  }
  Array of(const Array& x) const { return is_whole(x.shape()) ? x : slice_of_shape(x, start, Shape(count), stride); }
};

// Which axis of the indices an axis of a gather's result, or of a scatter's updates, goes in step with.
std::optional<std::size_t> index_axis_of(const IndexAxes& axes, std::size_t axis) {
  const auto at = static_cast<std::int64_t>(axis);
  if (place_of(axes.window, at) != no_axis) return {};
  return static_cast<std::size_t>(axis_left(axes.window, at));
}

// A part of index vectors that are one number each: of the numbers, which may be a sort's.
Array part_of_indices(const Match& m, const Array& indices, const PartOf& part) {
  const Eqn* eqn = m.maker(indices);
  const std::size_t last = indices.rank() - 1;
  if (eqn == nullptr || eqn->op != &reshape_op() || indices.shape()[last] != Dim(1)) return part.of(indices);
  const Array numbers = m.operand(*eqn, 0);
  if (numbers.rank() != last || !std::equal(numbers.shape().begin(), numbers.shape().end(), indices.shape().begin()))
    return part.of(indices);
  PartOf own(numbers.shape());
  for (std::size_t axis = 0; axis < last; ++axis) own.set(axis, part, axis);
  return reshape(own.of(numbers), Shape(part.count));
}

// x[i][:k] is x[i[:k]].
MaybeArray part_of_gather(const Match& m) {
  const Moves moves(m, m[0]);
  const Eqn* gathered = m.maker(moves.inside());
  if (gathered == nullptr || gathered->op != &gather_op() || m.reads(moves.inside()) != 1) return {};
  const IndexAxes axes = axes_of_gather(gathered->params);
  const Array x = m.operand(*gathered, 0), indices = m.operand(*gathered, 1);
  const SliceForm form = slice_form(m.maker(m.root())->params);
  PartOf outside(m[0].shape());
  outside.start = form.start, outside.stride = form.stride, outside.count = m.root().shape().dims();
  PartOf of_indices(indices.shape()), of_x(x.shape());
  const std::vector<std::size_t> to = moves.axes();
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    if (outside.is_whole(to[axis], m[0].shape())) continue;
    const auto along = index_axis_of(axes, axis);
    if (!along) return {};
    of_indices.set(*along, outside, to[axis]);
    const std::int64_t batch = place_of(axes.indices_batch, static_cast<std::int64_t>(*along));
    if (batch != no_axis)
      of_x.set(static_cast<std::size_t>(axes.batch[static_cast<std::size_t>(batch)]), outside, to[axis]);
  }
  if (of_indices.is_whole(indices.shape())) return {};
  return moves.again(gather_along(gathered->params, of_x.of(x), part_of_indices(m, indices, of_indices), axes));
}

// zeros.at[i].add(pad(y, 0)) is zeros.at[i[:k]].add(y).
MaybeArray part_of_scatter(const Match& m) {
  const Eqn& eqn = *m.maker(m.root());
  const auto is_zero = [&](const Array& x) {
    const auto number = m.constant(x);
    return number && number->as_complex() == 0.0 && !std::signbit(number->as_complex().real());
  };
  if (kind_of_scatter(eqn.params) != ScatterKind::add || !is_zero(m[0])) return {};
  const Moves moves(m, m[2]);
  const Eqn* padded = m.maker(moves.inside());
  if (padded == nullptr || padded->op != &pad_op() || m.reads(moves.inside()) != 1 || !is_zero(m.operand(*padded, 1)))
    return {};
  const IndexAxes axes = axes_of_scatter(eqn.params);
  const Array &indices = m[1], inner = m.operand(*padded, 0);
  const PadForm form = pad_form(padded->params);
  PartOf of_indices(indices.shape());
  const std::vector<std::size_t> to = moves.axes();
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    if (form.low[axis] < 0 || form.high[axis] < 0) return {};
    if (form.low[axis] == 0 && form.high[axis] == 0 && form.interior[axis] == 0) continue;
    const auto along = index_axis_of(axes, to[axis]);
    if (!along || place_of(axes.indices_batch, static_cast<std::int64_t>(*along)) != no_axis) return {};
    of_indices.start[*along] = Dim(form.low[axis]);
    of_indices.count[*along] = inner.shape()[axis];
    of_indices.stride[*along] = form.interior[axis] + 1;
  }
  if (of_indices.is_whole(indices.shape())) return {};
  return scatter_along(eqn.params, m[0], part_of_indices(m, indices, of_indices), moves.again(inner), axes);
}

RuleRef parts_of_gathers() {
  using Holes = std::span<const Array>;
  const auto examples = [] {
    const Type x = Type::array(DType::f32, {Dim(4), Dim(6)}), i = Type::array(DType::i32, {Dim(5)});
    const auto first = [](const Array& a, std::int64_t k, std::int64_t axis) { return slice_in_dim(a, 0, k, axis); };
    return std::vector<Rule::Example>{
        {{x, i}, [=](Holes h) { return first(take(h[0], h[1], 1), 2, 1); }},
        {{x, i}, [=](Holes h) { return first(transpose(take(h[0], h[1], 1), {1, 0}), 3, 0); }},
        {{x, i}, [=](Holes h) { return slice(take(h[0], h[1], 0), {1, 0}, {5, 6}, {2, 1}); }},
        {{x}, [=](Holes h) { return first(take_along_axis(h[0], argsort(h[0]), 1), 4, 1); }},
        {{x}, [=](Holes h) { return slice(take_along_axis(h[0], argsort(h[0]), 1), {1, 0}, {3, 4}, {1, 1}); }}};
  };
  return std::make_shared<const Rule>(Rule{.name = "x[i][:k] = x[i[:k]]",
                                           .replacement = part_of_gather,
                                           .roots = [](const OpInfo& op) { return &op == &slice_op(); },
                                           .applies_to = examples});
}

RuleRef parts_of_scatters() {
  using Holes = std::span<const Array>;
  const auto examples = [] {
    const Type i = Type::array(DType::i32, {Dim(5)}), y = Type::array(DType::f32, {Dim(2), Dim(3)}),
               row = Type::array(DType::f32, {Dim(2)});
    const auto add = [](const Shape& shape, const Array& i, const Array& y) {
      return scatter_at(ScatterKind::add, zeros(shape, DType::f32), std::vector{i}, {0}, y, {});
    };
    return std::vector<Rule::Example>{
        {{i, row}, [=](Holes h) { return add({7}, h[0], pad(h[1], 0.f, {0}, {3})); }},
        {{i, row}, [=](Holes h) { return add({7}, h[0], pad(h[1], 0.f, {1}, {1}, {1})); }},
        {{i, y}, [=](Holes h) { return add({7, 3}, h[0], pad(h[1], 0.f, {2, 0}, {1, 0})); }},
        {{i, y}, [=](Holes h) { return add({7, 2}, h[0], transpose(pad(h[1], 0.f, {0, 1}, {0, 1}), {1, 0})); }}};
  };
  return std::make_shared<const Rule>(Rule{.name = "zeros.at[i].add(y amid zeros) = zeros.at[part of i].add(y)",
                                           .replacement = part_of_scatter,
                                           .roots = [](const OpInfo& op) { return &op == &scatter_op(); },
                                           .applies_to = examples});
}

}  // namespace

std::vector<RuleRef> gathered_part_rules() { return {parts_of_gathers(), parts_of_scatters()}; }

}  // namespace tenon
