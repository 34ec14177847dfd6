// Images of any rank between their elements, as SciPy names it.
#pragma once

#include <cstdint>
#include <span>

#include "tenon/ir/array.h"

namespace tenon::ndimage {

// What stands outside of an axis of n elements a b c d: a value (constant); the nearest element, a a|a b c d|d d
// (nearest); the axis again, c d|a b c d|a b (wrap); its mirror image about the middle of the end's element, c b|a b c
// d|c b (mirror), or about the end, b a|a b c d|d c (reflect).
enum class Beyond { constant, nearest, wrap, mirror, reflect };
struct MapOptions {
  std::int64_t order = 1;  // 0: the nearest element, halves away from 0; 1: straight lines between elements
  Beyond mode = Beyond::constant;
  Array fill = 0.0;  // the value of Beyond::constant
};

// x at coordinates, one array for each axis of x, which broadcast: element i stands at i. The result has their shape
// and x's dtype, integers rounded, halves away from 0. Weights are of the coordinates' dtype, at least f32. Derivatives
// of any order in x, the fill value and the coordinates; those are 0 of order 0. Time grows with 2^axes of order 1. NaN
// at coordinates that are NaN, of real numbers. Throws ShapeError where there are not as many coordinates as axes, and
// where x has no elements (but of Beyond::constant); UnsupportedError of other orders.
//   ndimage::map_coordinates(Array{1.f, 3.f}, {Array{0.5f, 1.f}})   // 2 3
Array map_coordinates(const Operand& x, std::span<const Array> coordinates, const MapOptions& options = {});
inline Array map_coordinates(const Operand& x, std::initializer_list<Array> coordinates,
                             const MapOptions& options = {}) {
  return map_coordinates(x, std::span(coordinates.begin(), coordinates.size()), options);
}

}  // namespace tenon::ndimage
