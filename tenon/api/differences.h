// Neighbours along an axis: differences, slopes, sums of areas, angles without jumps, as NumPy names them.
//
// Any shape with that axis (negative ones count from the end). Derivatives of any order. Throws ShapeError where there
// is no such axis, or where there are too few elements along it.
#pragma once

#include <cstdint>
#include <numbers>
#include <optional>

#include "tenon/ir/array.h"

namespace tenon {

// x[i + 1] - x[i] along an axis, n times: n elements fewer, none where there are not so many. Integers wrap around; of
// bools whether neighbours differ. `prepend` and `append` stand before and behind x first: numbers, or arrays like x.
//   diff(Array{1, 4, 9})      // 3 5
//   diff(Array{1, 4, 9}, 2)   // 2
struct DiffOptions {
  MaybeArray prepend = {}, append = {};
};
Array diff(const Operand& x, std::int64_t n = 1, std::int64_t axis = -1, const DiffOptions& options = {});
// Of all elements in a row, between others, which take the dtype of the differences.
//   ediff1d(Array{1, 4, 9}, {.to_begin = Array(0)})   // 0 3 5
struct Ediff1dOptions {
  MaybeArray to_begin = {}, to_end = {};
};
Array ediff1d(const Operand& x, const Ediff1dOptions& options = {});

// The slope of f along an axis: of second order inside, by neighbours on both sides, one-sided differences at the ends.
// `spacing`: the distance between neighbours, or a vector of their coordinates. Integers become f32 (64-bit ones f64).
// Takes two elements at least.
//   gradient(Array{1.f, 4.f, 9.f, 16.f}, 0)   // 3 4 6 7
Array gradient(const Operand& f, std::int64_t axis = -1, const Operand& spacing = 1);

// The integral of y along an axis by the trapezoidal rule: at coordinates x, a vector or an array like y, or `dx` apart
// (which may be an array of distances). Integers become f32 (64-bit ones f64).
//   trapezoid(Array{1.f, 2.f, 3.f})                                  // 4
//   trapezoid(Array{1.f, 2.f, 3.f}, {.x = Array{0.f, 1.f, 3.f}})     // 6.5
struct TrapezoidOptions {
  MaybeArray x = {};
  Array dx = 1;
  std::int64_t axis = -1;
};
Array trapezoid(const Operand& y, const TrapezoidOptions& options = {});

// Angles p with multiples of the period added, so that no step along the axis is larger than half of it; steps up to
// `discont` stay, where that is more. A step of just half a period goes the way that it came. Integers with a period
// that is one stay integers.
//   unwrap(Array{0.f, 3.f, -3.f})   // 0 3 3.2832
struct UnwrapOptions {
  std::optional<double> discont = {};
  std::int64_t axis = -1;
  Array period = 2 * std::numbers::pi;
};
Array unwrap(const Operand& p, const UnwrapOptions& options = {});

}  // namespace tenon
