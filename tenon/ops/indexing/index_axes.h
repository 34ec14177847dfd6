// How gather and scatter read the axes of their operands: the geometry that their types, evaluation, batching and
// native code share.
#pragma once

#include <boost/describe.hpp>
#include <functional>
#include <string_view>

#include "tenon/base/function_ref.h"
#include "tenon/ir/op.h"
#include "tenon/ops/indexing/gather.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

BOOST_DESCRIBE_ENUM(IndexMode, clip, fill, promise_in_bounds)

// The axes by what they are. `windowed` is the array on the other side: gather's result, scatter's updates.
struct IndexGeometry {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> slice_axes;   // axes of x that a slice keeps, ascending
  std::vector<std::size_t> window_axes;  // the axes of `windowed` that they are
  std::vector<std::size_t> lane_axes;    // the other axes of `windowed`: those of indices but the last, in order
  std::vector<std::size_t> component;    // of each axis of x: which number of an index vector moves it, or none
  std::vector<std::size_t> lane;         // of each axis of x: the axis of indices that goes in step, or none
};
// Of single elements; nothing where slices have axes.
std::optional<ElementPoints> points_of(const IndexGeometry& g, IndexMode mode);
// Of whole rows; nothing where slices are others. `slice_sizes`: of all axes of x.
std::optional<RowPoints> row_points_of(const IndexGeometry& g, IndexMode mode, const Shape& x,
                                       std::span<const Dim> slice_sizes);
// Checks ranks and axes; sizes are checked by the types' rules. Throws ShapeError naming `op`.
IndexGeometry index_geometry(std::string_view op, const IndexAxes& axes, const Type& x, const Type& indices);

// What both types' rules ask of x, indices and the sizes of a slice; `elements`: of all slices.
void check_slices(std::string_view op, const IndexGeometry& g, const Type& x, const Type& indices,
                  std::span<const Dim> slice_sizes, const Dim& elements, IndexMode mode, TypeContext& context);
void require_index_dtype(std::string_view op, const Type& type);

// The same read or write for each lane of a batch, whose axis is axis 0 of the operands that are batched and of
// `windowed`. slice_sizes: as of gather; scatter passes its own copy.
IndexAxes batch_axes(const IndexAxes& axes, std::size_t x_rank, bool x_batched, bool indices_batched, const Dim& lanes,
                     std::vector<Dim>& slice_sizes);

// Elements with the others that a scatter of that kind puts there; they broadcast to its shape.
Array combined_with(ScatterKind kind, const Array& old, const Array& value);

// Walks over slices: `f` gets the offset of a slice's first element in x, or -1 where it lies outside and `mode` is
// fill, and in `windowed`. x and `windowed` are row-major of these sizes.
struct SliceWalk {
  std::vector<std::int64_t> x_offsets, windowed_offsets;  // of the elements of one slice, from its first
  std::function<void(FunctionRef<void(std::int64_t x, std::int64_t windowed)>)> each;
};
SliceWalk walk_slices(const IndexGeometry& g, std::span<const std::int64_t> x, const Buffer& indices,
                      std::span<const std::int64_t> windowed, IndexMode mode);

// As expressions: the index into x of an element of `windowed`, always inside of x where it has elements; and whether
// the slice lies inside (empty: always, or not asked). `limits`: the largest start along each axis, which is to be 0 at
// least where that is not known here.
struct IndexTarget {
  std::vector<kernel::Expr> index;
  kernel::Expr inside;
  std::vector<Dim> limits;
};
IndexTarget index_target(const IndexGeometry& g, std::span<const Dim> x, std::span<const Dim> windowed, bool ask_inside,
                         std::span<const kernel::Expr> windowed_index,
                         FunctionRef<kernel::Expr(std::span<const kernel::Expr>)> load_index);

// A start moved into [0, limit], as i64.
std::int64_t clamped_start(std::int64_t start, std::int64_t limit);
kernel::Expr clamped_start(const kernel::Expr& start, const Dim& limit);
// An integer of any index dtype; saturated to i64.
kernel::Expr start_expr(const kernel::Expr& index);
std::int64_t index_value(const Buffer& indices, std::int64_t element);

}  // namespace tenon
