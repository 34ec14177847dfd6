// Ops that move elements and never compute with them; and arrays made out of nothing.
#pragma once

#include <optional>

#include "tenon/ir/array.h"

namespace tenon {

// x with the axes of `shape`: axis i of x becomes axis dims[i]; sizes of 1 may grow.
Array broadcast_in_dim(const Operand& x, const Shape& shape, std::vector<std::int64_t> dims);
Array broadcast_to(const Operand& x, const Shape& shape);  // axes aligned at the end, as NumPy does
// The same elements, in row-major order, in another shape; at most one size may be -1.
Array reshape(const Operand& x, const Shape& shape);
Array transpose(const Operand& x,
                std::vector<std::int64_t> permutation);  // axis i of the result is axis permutation[i] of x
Array transpose(const Operand& x);                       // axes reversed
Array move_axis(const Operand& x, std::int64_t from, std::int64_t to);
Array expand_dims(const Operand& x, std::int64_t axis);
Array squeeze(const Operand& x, std::int64_t axis);  // an axis of size 1
// The run is refused, with this error, where a size is larger than another; nothing is done where it never is.
void require_at_most(const Dim& size, const Dim& most, FunctionRef<std::string()> what);
// Elements start, start + stride, … below limit, on every axis.
Array slice(const Operand& x, std::vector<Dim> start, std::vector<Dim> limit, std::vector<std::int64_t> stride = {});
// The same where start and limit are known to lie inside, whatever the sizes are.
Array slice_inside(const Operand& x, std::vector<Dim> start, std::vector<Dim> limit, std::vector<std::int64_t> stride);
Array slice_in_dim(const Operand& x, const Dim& start, const Dim& limit, std::int64_t axis, std::int64_t stride = 1);
Array reverse(const Operand& x, std::vector<std::int64_t> axes);
// All elements along one axis, row-major.
Array in_a_row(const Array& x);
// A vector along one of `rank` axes, the others of size 1.
Array along_axis(const Array& vector, std::size_t axis, std::size_t rank);
Array concatenate(std::span<const Array> parts, std::int64_t axis,
                  const Source& where = std::source_location::current());
Array stack(std::span<const Array> parts, std::int64_t axis = 0, const Source& where = std::source_location::current());
// concatenate({a, b}, 0), stack({a, b})
inline Array concatenate(std::initializer_list<Array> parts, std::int64_t axis,
                         const Source& where = std::source_location::current()) {
  return concatenate(std::span(parts.begin(), parts.size()), axis, where);
}
inline Array stack(std::initializer_list<Array> parts, std::int64_t axis = 0,
                   const Source& where = std::source_location::current()) {
  return stack(std::span(parts.begin(), parts.size()), axis, where);
}
// `value` before (low), after (high) and between (interior) the elements; negative low and high cut off.
Array pad(const Operand& x, const Operand& value, std::vector<std::int64_t> low, std::vector<std::int64_t> high,
          std::vector<std::int64_t> interior = {});
std::vector<Array> split(const Operand& x, std::int64_t parts, std::int64_t axis = 0);  // equal parts

// 0, 1, 2, … along one axis.
Array iota(DType dtype, const Shape& shape, std::int64_t axis, const Source& where = std::source_location::current());
Array arange(const Dim& n, DType dtype = DType::i32, const Source& where = std::source_location::current());
// A size as a number, i64[]; of a symbolic size it is known when the program runs.
Array size_as_array(const Dim& size, const Source& where = std::source_location::current());
// The same in another dtype.
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
Array full(const Shape& shape, const Operand& value);
Array zeros(const Shape& shape, DType dtype = DType::f32, const Source& where = std::source_location::current());
Array ones(const Shape& shape, DType dtype = DType::f32, const Source& where = std::source_location::current());
// Of the shape and dtype of another array, or of a type.
Array zeros_like(const Operand& x);
Array ones_like(const Operand& x);
Array zeros_like(const Type& type);
Array ones_like(const Type& type);
Array eye(const Dim& n, DType dtype = DType::f32, const Source& where = std::source_location::current());

// One axis more in front, of this size.
Array add_batch_axis(const Array& x, const Dim& size);

}  // namespace tenon
