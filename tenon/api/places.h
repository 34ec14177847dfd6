// Elements by their numbers in a row, by conditions and on diagonals, as NumPy names them.
//
// Any shape and dtype. Derivatives move with the elements. Numbers and places are integers (DTypeError), which need not
// be known; negative ones count from the end.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

// What stands in the place of numbers that lie outside: the nearest (clip), those modulo how many there are (wrap), or
// themselves (ignore).
enum class Outside : std::uint8_t { clip, wrap, ignore };

// The element of the first choice whose condition holds, else `otherwise`. Conditions are bools, or hold where they are
// not 0; all broadcast, choices meet in one dtype. Throws ShapeError where there are not as many of both, or none.
//   const Array x{-1.f, 0.5f, 2.f};
//   select({x < 0, x > 1}, {Array(0), Array(1)}, x)   // 0 0.5 1
Array select(std::span<const Array> conditions, std::span<const Array> choices, const Operand& otherwise = 0);
inline Array select(std::initializer_list<Array> conditions, std::initializer_list<Array> choices,
                    const Operand& otherwise = 0) {
  return select(std::span(conditions.begin(), conditions.size()), std::span(choices.begin(), choices.size()),
                otherwise);
}

// The index along each axis of a shape of elements whose numbers in row-major order are given, of these numbers' dtype;
// outside of the shape those of the nearest. Time grows with the numbers times the axes.
//   unravel_index(Array{5, -1}, {2, 3})   // 1 1, 2 2
std::vector<Array> unravel_index(const Operand& numbers, const Shape& shape);
// The numbers of elements whose index along each axis is given. Indices broadcast. Throws ShapeError where there is not
// one for each axis.
//   ravel_index({Array{0, 1}, Array{2, 2}}, {2, 3})   // 2 5
Array ravel_index(std::span<const Array> indices, const Shape& shape, Outside mode = Outside::ignore,
                  const Source& where = std::source_location::current());
inline Array ravel_index(std::initializer_list<Array> indices, const Shape& shape, Outside mode = Outside::ignore,
                         const Source& where = std::source_location::current()) {
  return ravel_index(std::span(indices.begin(), indices.size()), shape, mode, where);
}

// x with values, again and again where they are fewer, at the elements of these numbers in a row; those outside are
// left out where they are ignored. Of an element that is named several times the last value stays.
//   put(Array{1, 2, 3, 4}, Array{0, -1}, Array{8, 9})   // 8 2 3 9
Array put(const Operand& x, const Operand& numbers, const Operand& values, Outside mode = Outside::clip);
// x with values, one after another and again from the first, where the mask holds, which has as many elements. Throws
// ShapeError without values, or where the mask has others.
//   place(Array{1, 2, 3}, Array{true, false, true}, Array{8, 9})   // 8 2 9
Array place(const Operand& x, const Operand& mask, const Operand& values);
// x with values, again and again where they are fewer, on the diagonal of elements whose index is the same along all
// axes. Throws ShapeError where x has fewer than two axes.
//   fill_diagonal(zeros({2, 2}), Array{1, 2})   // 1 0, 0 2
Array fill_diagonal(const Operand& x, const Operand& values);

}  // namespace tenon
