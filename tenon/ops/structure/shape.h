// Ops that move elements and never compute with them; and arrays made out of nothing.
#pragma once

#include <optional>

#include "tenon/ir/array.h"

namespace tenon {

// x with the axes of `shape`: axis i of x becomes axis dims[i]; sizes of 1 may grow.
//   broadcast_in_dim(Array{1, 2}, {2, 3}, {0})   // 1 1 1, 2 2 2
Array broadcast_in_dim(const Operand& x, const Shape& shape, std::vector<std::int64_t> dims);
// The same with axes aligned at the end, as NumPy does. Throws ShapeError where a size is neither 1 nor that of
// `shape`.
//   broadcast_to(Array{1, 2}, {2, 2})   // 1 2, 1 2
Array broadcast_to(const Operand& x, const Shape& shape);
// The same elements, in row-major order, in another shape; at most one size may be -1. Throws ShapeError where the
// numbers of elements differ.
//   reshape(arange(6), {3, -1})   // 0 1, 2 3, 4 5
Array reshape(const Operand& x, const Shape& shape);
// Axes in another order: axis i of the result is axis permutation[i] of x; without a permutation, reversed.
//   transpose(Array{{1, 2}, {3, 4}})   // 1 3, 2 4
Array transpose(const Operand& x, std::vector<std::int64_t> permutation);
Array transpose(const Operand& x);
// One axis in another place, the others in their order; negative ones count from the end.
//   move_axis(Array{{1, 2}, {3, 4}}, 0, -1)   // 1 3, 2 4
Array move_axis(const Operand& x, std::int64_t from, std::int64_t to);
// With an axis of size 1 more, which is `axis` of the result; and with such an axis less: a ShapeError where its size
// is another.
//   expand_dims(Array{1, 2}, 1) + Array{0, 10}   // 1 11, 2 12
//   squeeze(Array{{1, 2}}, 0)   // 1 2
Array expand_dims(const Operand& x, std::int64_t axis);
Array squeeze(const Operand& x, std::int64_t axis);
// The run is refused, with this error, where a size is larger than another; nothing is done where it never is.
void require_at_most(const Dim& size, const Dim& most, FunctionRef<std::string()> what);
// Elements start, start + stride, … below limit, on every axis.
//   slice(arange(6), {1}, {6}, {2})   // 1 3 5
Array slice(const Operand& x, std::vector<Dim> start, std::vector<Dim> limit, std::vector<std::int64_t> stride = {});
// The same where start and limit are known to lie inside, whatever the sizes are.
//   slice_inside(arange(6), {1}, {5}, {1})   // 1 2 3 4
Array slice_inside(const Operand& x, std::vector<Dim> start, std::vector<Dim> limit, std::vector<std::int64_t> stride);
// The same on one axis, the others whole.
//   slice_in_dim(Array{{1, 2, 3}, {4, 5, 6}}, 0, 2, 1)   // 1 2, 4 5
Array slice_in_dim(const Operand& x, const Dim& start, const Dim& limit, std::int64_t axis, std::int64_t stride = 1);
// The other way round along axes.
//   reverse(Array{{1, 2}, {3, 4}}, {1})   // 2 1, 4 3
Array reverse(const Operand& x, std::vector<std::int64_t> axes);
// All elements along one axis, row-major.
//   in_a_row(Array{{1, 2}, {3, 4}})   // 1 2 3 4
Array in_a_row(const Array& x);
// A vector along one of `rank` axes, the others of size 1.
//   along_axis(Array{1, 2}, 0, 2) * Array{1, 10}   // 1 10, 2 20
Array along_axis(const Array& vector, std::size_t axis, std::size_t rank);
// Arrays one after another along an axis that they have; and along a new one. They meet in one dtype. Throws ShapeError
// where other sizes differ, or there is no array.
//   concatenate({Array{1, 2}, Array{3}}, 0)   // 1 2 3
//   stack({Array{1, 2}, Array{3, 4}}, 1)   // 1 3, 2 4
Array concatenate(std::span<const Array> parts, std::int64_t axis,
                  const Source& where = std::source_location::current());
Array stack(std::span<const Array> parts, std::int64_t axis = 0, const Source& where = std::source_location::current());
inline Array concatenate(std::initializer_list<Array> parts, std::int64_t axis,
                         const Source& where = std::source_location::current()) {
  return concatenate(std::span(parts.begin(), parts.size()), axis, where);
}
inline Array stack(std::initializer_list<Array> parts, std::int64_t axis = 0,
                   const Source& where = std::source_location::current()) {
  return stack(std::span(parts.begin(), parts.size()), axis, where);
}
// `value` before (low), after (high) and between (interior) the elements; negative low and high cut off.
//   pad(Array{1, 2}, 0, {1}, {2})   // 0 1 2 0 0
//   pad(Array{1, 2, 3}, 0, {-1}, {0}, {1})   // 0 2 0 3
Array pad(const Operand& x, const Operand& value, std::vector<std::int64_t> low, std::vector<std::int64_t> high,
          std::vector<std::int64_t> interior = {});
// Equal parts along an axis, one after another. Throws ShapeError where the size is no multiple of `parts`.
//   split(Array{1, 2, 3, 4}, 2)[1]   // 3 4
std::vector<Array> split(const Operand& x, std::int64_t parts, std::int64_t axis = 0);

// 0, 1, 2, … along one axis, the same along the others; and as a vector.
//   iota(DType::i32, {2, 3}, 1)   // 0 1 2, 0 1 2
//   arange(3)   // 0 1 2
Array iota(DType dtype, const Shape& shape, std::int64_t axis, const Source& where = std::source_location::current());
Array arange(const Dim& n, DType dtype = DType::i32, const Source& where = std::source_location::current());
// A size as a number, i64[]; of a symbolic size it is known when the program runs.
//   size_as_array(Array{1, 2, 3}.shape()[0])   // 3
Array size_as_array(const Dim& size, const Source& where = std::source_location::current());
// The same in another dtype.
//   size_as_array(3, DType::f32) / 2   // 1.5
Array size_as_array(const Dim& size, DType dtype);
// The other way round: a whole number, of what data say too, as a size. Under jit, arrays of that size are as large as
// the number is when the program runs; ShapeError where that is negative, or where it differs among the lanes of vmap.
// DTypeError for what is no single integer.
//
//   const Array x{3.f, 1.f, -2.f};
//   const tn::Dim n = tn::array_as_size(tn::count_nonzero(x > 0));
//   x(tn::slice(n))   // 3 1
Dim array_as_size(const Operand& number);
// The same of a number that may be negative, for slice(): there it counts from the end of the axis then.
//
//   Array{1, 2, 3}(tn::slice(tn::array_as_bound(Array(-2)), {}))   // 2 3
Dim array_as_bound(const Operand& number);
// Arrays of one value, which broadcasts to the shape; of zeros; of ones.
//   full({2, 2}, Array{1, 2})   // 1 2, 1 2
//   zeros({2})   // 0 0
//   ones({2}, DType::i32)   // 1 1
Array full(const Shape& shape, const Operand& value);
Array zeros(const Shape& shape, DType dtype = DType::f32, const Source& where = std::source_location::current());
Array ones(const Shape& shape, DType dtype = DType::f32, const Source& where = std::source_location::current());
// Of the shape and dtype of another array, or of a type.
//   ones_like(Array{5, 6})   // 1 1
Array zeros_like(const Operand& x);
Array ones_like(const Operand& x);
Array zeros_like(const Type& type);
Array ones_like(const Type& type);
// The unit matrix, [n, n]; others are in tenon/api/diagonals.h.
//   eye(2)   // 1 0, 0 1
Array eye(const Dim& n, DType dtype = DType::f32, const Source& where = std::source_location::current());

// One axis more in front, of this size, along which all is the same.
//   add_batch_axis(Array{1, 2}, 2)   // 1 2, 1 2
Array add_batch_axis(const Array& x, const Dim& size);

}  // namespace tenon
