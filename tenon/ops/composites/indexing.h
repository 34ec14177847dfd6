// Reads and writes at indices that are known only when the program runs, as in NumPy: negative indices count from the
// end. The general form below them is gather.h.
#pragma once

#include "tenon/ir/array.h"
#include "tenon/ops/indexing/gather.h"

namespace tenon {

// The part of x of these sizes that starts at `start` (one integer number an axis), moved inside where it would reach
// out: here a negative start lies before the beginning.
//   dynamic_slice(arange(5), Arrays{4}, {2})   // 3 4
Array dynamic_slice(const Operand& x, std::span<const Array> start, std::vector<Dim> sizes);
// The row of x at `i`, an integer number, along its first axis, or another one.
//   row_at(Array{{1, 2}, {3, 4}}, 1)   // 3 4
Array row_at(const Array& x, const Array& i, std::size_t axis = 0);
// x with that part replaced. In place where nothing else needs x.
//   dynamic_update_slice(arange(4), Array{9, 9}, Arrays{1})   // 0 9 9 3
Array dynamic_update_slice(const Operand& x, const Operand& update, std::span<const Array> start);
// x[…, i, j, …]: arrays of integers, broadcast together, each for one axis of x. The result has their common axes in
// place of the axes that are indexed where those lie side by side, else in front; then as NumPy's x[i, :, j]. Out of
// bounds: by `options.mode`, moved inside where none is given.
//   gather_at(Array{{1, 2}, {3, 4}}, Arrays{Array{0, 1}, Array{1, 0}}, {0, 1})   // 2 3
Array gather_at(const Operand& x, std::span<const Array> indices, std::vector<std::int64_t> axes,
                const GatherOptions& options = {});
// x with `updates` set, or combined, there; they broadcast to what gather_at() gives. Of an element that is hit several
// times the last update stays, or all are combined. Out of bounds: left out where no mode is given.
//   scatter_at(ScatterKind::add, zeros({3}), Arrays{Array{0, 0, 2}}, {0}, 1.f)   // 2 0 1
Array scatter_at(ScatterKind kind, const Operand& x, std::span<const Array> indices, std::vector<std::int64_t> axes,
                 const Operand& updates, const ScatterOptions& options = {});

// The dtype of indices of so many elements: i32, or i64 where it is known not to hold them.
DType index_dtype(const Dim& elements);

// Elements of x at `indices` along `axis`: the axis is replaced by the axes of `indices`.
//   take(Array{{1, 2, 3}, {4, 5, 6}}, Array{2, 0}, 1)   // 3 1, 6 4
Array take(const Operand& x, const Operand& indices, std::int64_t axis = 0, const GatherOptions& options = {});
// result[…, i, …] = x[…, indices[…, i, …], …]: x and indices have one rank, and their other axes broadcast. What
// argmax() along an axis (with the axis kept) picks.
//   take_along_axis(Array{{1, 2}, {3, 4}}, Array{{1}, {0}}, 1)   // 2, 3
Array take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis, const GatherOptions& options = {});

// x with `updates` added to (or set at) `indices` along its first axis.
//   scatter_add(Array{1, 2, 3}, Array{0, 0, 2}, 10)   // 21 2 13
//   scatter_set(Array{1, 2, 3}, Array{-1}, 0)   // 1 2 0
Array scatter_add(const Operand& x, const Operand& indices, const Operand& updates);
Array scatter_set(const Operand& x, const Operand& indices, const Operand& updates);

// The elements of x (along its first axes) where the mask holds, in row-major order: f32[n] of a size that the data
// decide. Two arrays compressed by one mask agree in size.
//   compress(Array{1, 2, 3}, Array{true, false, true})   // 1 3
Array compress(const Operand& x, const Operand& mask);

// A mask cannot choose elements where it stands: the size of what it chooses would differ from lane to lane.
class MaskError : public ShapeError {
 public:
  using ShapeError::ShapeError;
};
// The indices of the elements that are not zero (of bool: that hold), in row-major order: an i32[n] for each axis, of a
// size that the data decide. where(condition) is its other name.
//   nonzero(Array{{0, 1}, {1, 0}})   // 0 1, 1 0
std::vector<Array> nonzero(const Operand& x);
std::vector<Array> where(const Operand& condition);
// The same as rows, i32[n, axes].
//   argwhere(Array{{1, 0}, {1, 0}})   // 0 0, 1 0
Array argwhere(const Operand& x);
// How many there are, i32, over all axes.
//   count_nonzero(Array{0, 3, 5})   // 2
Array count_nonzero(const Operand& x);

// x, through which no derivative flows.
//   tn::grad([](Array x) { return tn::stop_gradient(x) * x; })(Array(3.f))   // 3
Array stop_gradient(const Operand& x);
// x, through which derivatives flow where `running` holds: bool[], or as many as x has elements.
Array stop_unless(const Array& running, const Array& x);

}  // namespace tenon
