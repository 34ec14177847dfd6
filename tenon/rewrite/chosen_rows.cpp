#include "tenon/rewrite/chosen_rows.h"

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/steps_in.h"

namespace tenon {
namespace {

// The places that are named, of the axes of x that go in step with the indices; these axes.
std::pair<Array, std::vector<std::int64_t>> places(const RowPoints& points, const Type& x, const Array& indices) {
  std::vector<std::int64_t> axes;
  std::vector<Dim> sizes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis)
    if (points.others[axis] && points.others[axis]->of_indices)
      axes.push_back(static_cast<std::int64_t>(axis)), sizes.push_back(x.shape[axis]);
  const auto last = static_cast<std::int64_t>(indices.rank()) - 1, number = static_cast<std::int64_t>(points.number);
  return {convert(reshape(slice_in_dim(indices, number, number + 1, last), Shape(sizes)), DType::i64), axes};
}

}  // namespace

std::optional<RowPoints> rows_in_order(const Eqn& eqn, const Program& program) {
  const auto rows = several_rows_in_order(eqn, program, 1);
  return rows ? std::optional(rows->points) : std::nullopt;
}

std::optional<SeveralRows> several_rows_in_order(const Eqn& eqn, const Program& program, std::int64_t most) {
  const bool gathers = eqn.op == &gather_op();
  if (!gathers && eqn.op != &scatter_op()) return {};
  const Type &x = program.type(eqn.in[0]), &indices = program.type(eqn.in[1]),
             &rows = program.type(gathers ? eqn.out[0] : eqn.in[2]);
  if (!x.shape.known() || !indices.shape.known() || !rows.shape.known()) return {};
  const auto points =
      gathers ? row_points_read(eqn.params, x, indices) : row_points_added(eqn.params, x, indices, rows);
  if (!points) return {};
  std::vector<bool> of_rows(rows.rank(), false), of_indices(indices.rank() - 1, false);
  std::int64_t last_row = -1, last_index = -1;
  const auto follows = [](std::int64_t& last, std::size_t axis) {
    return std::exchange(last, static_cast<std::int64_t>(axis)) < static_cast<std::int64_t>(axis);
  };
  for (const auto& along : points->others) {
    if (!along) continue;
    if (!follows(last_row, along->axis)) return {};
    of_rows[along->axis] = true;
    if (!along->of_indices) continue;
    if (!follows(last_index, *along->of_indices)) return {};
    of_indices[*along->of_indices] = true;
  }
  // Axes of rows and of indices that are none of x's go in step.
  const auto others = [](const Type& type, const std::vector<bool>& of_x) {
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 0; axis < of_x.size(); ++axis)
      if (!of_x[axis] && type.shape[axis] != Dim(1)) axes.push_back(static_cast<std::int64_t>(axis));
    return axes;
  };
  const auto more_rows = others(rows, of_rows), more_indices = others(indices, of_indices);
  if (more_rows.empty() && more_indices.empty()) return SeveralRows{*points};
  if (more_rows.size() != 1 || more_indices.size() != 1) return {};
  const auto count_along = [](const Type& type, std::int64_t axis) { return type.shape[at(axis)].value(); };
  const std::int64_t count = count_along(rows, more_rows[0]);
  if (count > most || count == 0 || count_along(indices, more_indices[0]) != count) return {};
  return SeveralRows{*points, count, more_rows[0], more_indices[0]};
}

Array is_named(const RowPoints& points, const Type& x, const Array& indices) {
  auto [index, lanes] = places(points, x, indices);
  const Dim& size = x.shape[points.axis];
  const std::int64_t count = size.value();
  if (points.mode == IndexMode::clip) index = clamp(index, 0, count - 1);
  const DType counted = index_dtype(size);
  // Numbers that lie outside are none of a row's.
  const Array number = where((index < 0) | (index >= count), -1, index);
  // Rows that have all places along an axis are one there.
  const auto along = static_cast<std::int64_t>(points.axis);
  std::vector<std::int64_t> axes = lanes, own;
  axes.insert(std::ranges::upper_bound(axes, along), along);
  std::vector<Dim> sizes;
  for (const std::int64_t axis : axes) sizes.push_back(x.shape[at(axis)]);
  for (const std::int64_t lane : lanes) own.push_back(place_of(axes, lane));
  const Shape shape(sizes);
  const Array found = broadcast_in_dim(convert(number, counted), shape, own) ==
                      broadcast_in_dim(arange(size, counted), shape, {place_of(axes, along)});
  return broadcast_in_dim(found, x.shape, axes);
}

std::vector<std::int64_t> other_axes(const RowPoints& points) {
  std::vector<std::int64_t> others;
  for (std::size_t axis = 0; axis < points.others.size(); ++axis)
    if (points.others[axis]) others.push_back(static_cast<std::int64_t>(axis));
  return others;
}

Array is_inside(const RowPoints& points, const Type& x, const Array& indices) {
  const auto [index, axes] = places(points, x, indices);
  const Array inside = (index >= 0) & (index < x.shape[points.axis].value());
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : axes) dims.push_back(axis_left({static_cast<std::int64_t>(points.axis)}, axis));
  return broadcast_in_dim(inside, x.shape.without_axis(points.axis), dims);
}

}  // namespace tenon
