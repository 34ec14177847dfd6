// Values between points: on a line, and on grids whose axes are ordered points, as NumPy and SciPy name them.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon::interpolate {

// Values below the first point and above the last: those there, unless other ones are given; or those of the straight
// lines that end there. With a period, points and x are taken modulo it, and the points need no order.
struct InterpOptions {
  std::optional<Array> left = {}, right = {};
  bool extrapolate_left = false, extrapolate_right = false;
  std::optional<Array> period = {};
};
// The values at x of the straight lines between the points (xp, fp), vectors of one size, xp ascending: x's shape. Of
// real or complex fp; integers become f32 (64-bit ones f64), and xp meets x. Where two points coincide, the latter.
// Derivatives in all of them. Time grows with the elements of x and the logarithm of the points. Throws ShapeError
// where xp and fp are not vectors of one size with elements, DTypeError of complex x or xp.
//   interpolate::interp(1.5f, Array{1.f, 2.f}, Array{0.f, 10.f})   // 5
Array interp(const Operand& x, const Operand& xp, const Operand& fp, const InterpOptions& options = {});

enum class Between { linear, nearest };
// A function of as many coordinates as there are vectors of points, each ascending: values[i, j, …, rest] at
// (points[0][i], points[1][j], …), between them by straight lines along each axis or that of the nearest point. A tree:
// jit, grad and vmap take it as an argument.
//   const interpolate::RegularGridInterpolator f{{Array{0.f, 1.f}, Array{0.f, 2.f}}, Array{{0.f, 2.f}, {4.f, 6.f}}};
//   f(Array{{0.5f, 0.5f}})   // 2.5
// Outside of the grid `fill`, or the lines that end at it where none is given. Throws ShapeError where sizes differ.
struct RegularGridInterpolator {
  std::vector<Array> points;
  Array values;
  Between between = Between::linear;
  std::optional<Array> fill = Array(std::numeric_limits<double>::quiet_NaN());

  // at: [..., axes] -> [..., rest].
  Array operator()(const Operand& at) const;
};

}  // namespace tenon::interpolate
