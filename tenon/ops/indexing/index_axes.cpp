#include "tenon/ops/indexing/index_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tenon/ops/indexing/index_map.h"

namespace tenon {
namespace {

using kernel::Binary;
using kernel::Expr;

// The marks of these axes in an array of this rank.
std::vector<bool> marked(std::string_view op, std::string_view what, const std::vector<std::int64_t>& axes,
                         std::size_t rank) {
  std::vector<bool> mark(rank, false);
  for (std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || mark[static_cast<std::size_t>(axis)])
      throw ShapeError(
          fmt::format("{}: the {} axes are [{}] of an array of rank {}.", op, what, fmt::join(axes, ", "), rank),
          "Name each axis once, from 0 up.");
    mark[static_cast<std::size_t>(axis)] = true;
  }
  return mark;
}

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

}  // namespace

std::optional<ElementPoints> points_of(const IndexGeometry& g, IndexMode mode) {
  if (!g.slice_axes.empty()) return {};
  ElementPoints points{std::vector<ElementPoints::Along>(g.lane.size()), mode};
  for (std::size_t axis = 0; axis < g.lane.size(); ++axis) {
    auto& along = points.along[axis];
    if (g.lane[axis] != IndexGeometry::none)
      along.axis = g.lane[axis];
    else if (g.component[axis] != IndexGeometry::none)
      along.number = g.component[axis];
    else
      return {};
  }
  return points;
}

std::optional<RowPoints> row_points_of(const IndexGeometry& g, IndexMode mode, const Shape& x,
                                       std::span<const Dim> slice_sizes) {
  std::vector<std::optional<RowPoints::Along>> others(x.rank());
  std::optional<std::size_t> rows;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const bool is_moved = g.component[axis] != IndexGeometry::none;
    const auto kept = std::ranges::find(g.slice_axes, axis);
    if (g.lane[axis] != IndexGeometry::none) {
      others[axis] = RowPoints::Along{g.lane_axes[g.lane[axis]], g.lane[axis]};
    } else if (kept != g.slice_axes.end() && slice_sizes[axis] == x[axis] &&
               (!is_moved || mode == IndexMode::clip)) {  // a slice of all starts at the first
      others[axis] = RowPoints::Along{g.window_axes[static_cast<std::size_t>(kept - g.slice_axes.begin())], {}};
    } else if (is_moved && slice_sizes[axis] == Dim(1) && !rows) {
      rows = axis;
    } else {
      return {};
    }
  }
  if (!rows) return {};
  return RowPoints{*rows, g.component[*rows], std::move(others), mode};
}

void require_index_dtype(std::string_view op, const Type& type) {
  if (type.is_array())
    for (DType d : {DType::i32, DType::i64, DType::u32, DType::u64})
      if (type.dtype == d) return;
  throw DTypeError(fmt::format("{}: indices are {}, not i32, i64, u32 or u64.", op, type.text()),
                   "Convert them to i32.");
}

IndexGeometry index_geometry(std::string_view op, const IndexAxes& axes, const Type& x, const Type& indices) {
  require_index_dtype(op, indices);
  if (!x.is_array() || indices.rank() == 0)
    throw ShapeError(
        fmt::format("{}: {} at {}: the last axis of indices holds the starts.", op, x.text(), indices.text()),
        "Give the indices an axis more, expand_dims(indices, -1).");
  const auto collapsed = marked(op, "collapsed", axes.collapsed, x.rank()),
             batch = marked(op, "batch", axes.batch, x.rank()), moved = marked(op, "map", axes.map, x.rank());
  marked(op, "batch", axes.indices_batch, indices.rank() - 1);
  IndexGeometry g;
  g.component.assign(x.rank(), IndexGeometry::none);
  g.lane.assign(x.rank(), IndexGeometry::none);
  if (axes.batch.size() != axes.indices_batch.size())
    throw ShapeError(fmt::format("{}: {} batch axes of the array and {} of the indices.", op, axes.batch.size(),
                                 axes.indices_batch.size()));
  for (std::size_t i = 0; i < axes.batch.size(); ++i)
    g.lane[static_cast<std::size_t>(axes.batch[i])] = static_cast<std::size_t>(axes.indices_batch[i]);
  for (std::size_t k = 0; k < axes.map.size(); ++k) g.component[static_cast<std::size_t>(axes.map[k])] = k;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (batch[i] && (collapsed[i] || moved[i]))
      throw ShapeError(fmt::format("{}: axis {} is a batch axis and also collapsed or moved by an index.", op, i));
    if (!collapsed[i] && !batch[i]) g.slice_axes.push_back(i);
  }
  const auto window = marked(op, "window", axes.window, g.slice_axes.size() + indices.rank() - 1);
  if (axes.window.size() != g.slice_axes.size() || !std::ranges::is_sorted(axes.window))
    throw ShapeError(fmt::format("{}: {} window axes, [{}], for the {} axes of {} that a slice keeps.", op,
                                 axes.window.size(), fmt::join(axes.window, ", "), g.slice_axes.size(), x.text()),
                     "Name one axis of the result for each, in ascending order.");
  for (std::size_t i = 0; i < window.size(); ++i) (window[i] ? g.window_axes : g.lane_axes).push_back(i);
  return g;
}

void check_slices(std::string_view op, const IndexGeometry& g, const Type& x, const Type& indices,
                  std::span<const Dim> slice_sizes, const Dim& elements, IndexMode mode, TypeContext& context) {
  const Dim components = indices.shape[indices.rank() - 1];
  const auto moved = std::ranges::count_if(g.component, [](std::size_t k) { return k != IndexGeometry::none; });
  if (components != Dim(moved))
    throw ShapeError(fmt::format("{}: the last axis of the indices, {}, holds {} starts; {} axes are indexed.", op,
                                 indices.text(), components.text(), moved),
                     "The last axis of the indices has one start for each axis in `map`.");
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool kept = std::ranges::binary_search(g.slice_axes, i);
    const Dim left = x.shape[i] - slice_sizes[i];
    // A start outside is never read or written in mode fill, nor does an empty slice need elements.
    const bool inside = !left.known() || left.value() >= 0 || elements == Dim(0) ||
                        (mode == IndexMode::fill && x.shape[i] == Dim(0) && g.component[i] != IndexGeometry::none);
    const auto what = [&] {
      return fmt::format("{}: slices of size {} along axis {} of {}{}.", op, slice_sizes[i].text(), i, x.text(),
                         kept ? "" : ", which is collapsed");
    };
    if ((!kept && slice_sizes[i] != Dim(1)) || (slice_sizes[i].known() && slice_sizes[i].value() < 0) ||
        (!inside && elements.known()))
      throw ShapeError(what(), "A slice fits into its axis, and has size 1 along collapsed and batch axes.");
    if (!inside) context.require_equal(elements, 0, what);
    if (g.lane[i] != IndexGeometry::none)
      context.require_equal(x.shape[i], indices.shape[g.lane[i]], [&] {
        return fmt::format("{}: batch axis {} of {} and {} of {} differ in size.", op, i, x.text(), g.lane[i],
                           indices.text());
      });
  }
}

IndexAxes batch_axes(const IndexAxes& axes, std::size_t x_rank, bool x_batched, bool indices_batched, const Dim& lanes,
                     std::vector<Dim>& slice_sizes) {
  const auto shifted = [](std::vector<std::int64_t> list, bool by) {
    for (auto& axis : list) axis += by;
    return list;
  };
  IndexAxes next{shifted(axes.window, true), shifted(axes.collapsed, x_batched), shifted(axes.map, x_batched),
                 shifted(axes.batch, x_batched), shifted(axes.indices_batch, indices_batched)};
  if (!x_batched) return next;
  if (slice_sizes.size() == x_rank) slice_sizes.insert(slice_sizes.begin(), indices_batched ? Dim(1) : lanes);
  if (indices_batched) {
    next.batch.insert(next.batch.begin(), 0);
    next.indices_batch.insert(next.indices_batch.begin(), 0);
  } else {
    next.window.insert(next.window.begin(), 0);  // every slice takes all lanes
  }
  return next;
}

std::int64_t clamped_start(std::int64_t start, std::int64_t limit) {
  return std::max<std::int64_t>(0, std::min(start, limit));
}
Expr clamped_start(const Expr& start, const Dim& limit) {
  if (kernel::at_most(limit, 0)) return Expr(std::int64_t(0));
  return kernel::binary(Binary::max, kernel::binary(Binary::min, start, kernel::size(limit)), Expr(std::int64_t(0)));
}

Expr start_expr(const Expr& index) {
  const bool wide = index.dtype() == DType::u64;  // no size is so large, so it may be cut
  return kernel::convert(DType::i64,
                         wide ? kernel::binary(Binary::min, index, kernel::constant_like(index, 0x1p62)) : index);
}

std::int64_t index_value(const Buffer& indices, std::int64_t element) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  switch (indices.dtype()) {
    case DType::i32:
      return indices.as<std::int32_t>()[element];
    case DType::u32:
      return indices.as<std::uint32_t>()[element];
    case DType::u64:
      return static_cast<std::int64_t>(std::min<std::uint64_t>(indices.as<std::uint64_t>()[element], most));
    default:
      return indices.as<std::int64_t>()[element];
  }
}

SliceWalk walk_slices(const IndexGeometry& g, std::span<const std::int64_t> x, const Buffer& indices,
                      std::span<const std::int64_t> windowed, IndexMode mode) {
  const auto x_strides = row_major_strides(x), windowed_strides = row_major_strides(windowed);
  SliceWalk walk;
  std::vector<std::int64_t> slice, lanes, limit(x.begin(), x.end());
  for (std::size_t axis : g.window_axes) slice.push_back(windowed[axis]);
  for (std::size_t axis : g.lane_axes) lanes.push_back(windowed[axis]);
  for (std::size_t i = 0; i < x.size(); ++i) --limit[i];
  bool empty = std::ranges::find(windowed, 0) != windowed.end();
  for (std::size_t k = 0; k < slice.size(); ++k) limit[g.slice_axes[k]] += 1 - slice[k];
  for (std::size_t i = 0; i < x.size(); ++i)  // sizes that were symbolic when the type was checked
    if (limit[i] < 0 && !empty && (mode != IndexMode::fill || g.component[i] == IndexGeometry::none))
      throw ShapeError(fmt::format("a slice reaches out of axis {} of size {}, wherever it starts.", i, x[i]));
  for_each_index(slice, [&](std::span<const std::int64_t> at) {
    std::int64_t in_x = 0, in_windowed = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      in_x += at[k] * x_strides[g.slice_axes[k]];
      in_windowed += at[k] * windowed_strides[g.window_axes[k]];
    }
    walk.x_offsets.push_back(in_x);
    walk.windowed_offsets.push_back(in_windowed);
  });
  walk.each = [=](FunctionRef<void(std::int64_t, std::int64_t)> f) {
    std::int64_t lane_number = 0;
    const std::int64_t components = indices.dims().back();
    for_each_index(lanes, [&](std::span<const std::int64_t> lane) {
      std::int64_t in_x = 0, in_windowed = 0;
      bool inside = true;
      for (std::size_t k = 0; k < lane.size(); ++k) in_windowed += lane[k] * windowed_strides[g.lane_axes[k]];
      for (std::size_t i = 0; i < x_strides.size(); ++i) {
        if (g.lane[i] != IndexGeometry::none) in_x += lane[g.lane[i]] * x_strides[i];
        if (g.component[i] == IndexGeometry::none) continue;
        const std::int64_t start =
            index_value(indices, lane_number * components + static_cast<std::int64_t>(g.component[i]));
        inside = inside && start >= 0 && start <= limit[i];
        in_x += clamped_start(start, limit[i]) * x_strides[i];
      }
      f(inside || mode != IndexMode::fill ? in_x : -1, in_windowed);
      ++lane_number;
    });
  };
  return walk;
}

IndexTarget index_target(const IndexGeometry& g, std::span<const Dim> x, std::span<const Dim> windowed, bool ask_inside,
                         std::span<const Expr> windowed_index, FunctionRef<Expr(std::span<const Expr>)> load_index) {
  IndexTarget target{std::vector<Expr>(x.size(), Expr(std::int64_t(0))), {}, {x.begin(), x.end()}};
  std::vector<Expr> lane;
  for (std::size_t axis : g.lane_axes) lane.push_back(windowed_index[axis]);
  std::vector<Dim>& limit = target.limits;
  for (Dim& l : limit) l = l - 1;
  for (std::size_t k = 0; k < g.slice_axes.size(); ++k)
    limit[g.slice_axes[k]] = limit[g.slice_axes[k]] + 1 - windowed[g.window_axes[k]];
  lane.emplace_back(std::int64_t(0));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (g.lane[i] != IndexGeometry::none) target.index[i] = lane[g.lane[i]];
    if (g.component[i] == IndexGeometry::none) continue;
    lane.back() = Expr(static_cast<std::int64_t>(g.component[i]));
    const Expr start = start_expr(load_index(lane));
    target.index[i] = clamped_start(start, limit[i]);
    if (!ask_inside) continue;
    constexpr bool no = false;
    const Expr here = kernel::at_most(limit[i], -1) ? kernel::constant(DType::bool_, &no)
                                                    : kernel::binary(Binary::eq, start, target.index[i]);
    target.inside = target.inside ? kernel::binary(Binary::and_, target.inside, here) : here;
  }
  for (std::size_t k = 0; k < g.slice_axes.size(); ++k) {
    Expr& at = target.index[g.slice_axes[k]];
    at = at + windowed_index[g.window_axes[k]];
  }
  return target;
}

}  // namespace tenon
