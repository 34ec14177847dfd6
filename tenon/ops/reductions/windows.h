// What windows of an array give back to it: the transposes of reductions over windows.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

// Of each axis of x: places of the window, from one window to the next, and from one place to the next, and places that
// are not there before the first element and behind the last (negative: so many are left out).
struct WindowPlaces {
  std::vector<std::int64_t> window, strides, dilations, low, high;
};
// As many windows of these places as lie inside of n elements and what stands around them.
Dim windows_of(const Dim& n, const WindowPlaces& places, std::size_t axis);

// x of these sizes, each element the sum of y[p] over the windows p that it lies in. Transpose of the sum over windows.
// Real numbers and integers, no 16-bit floats. Time: elements of y times the places of a window.
Array window_spread(const Operand& y, const WindowPlaces& places, std::vector<Dim> sizes);

// Of x's shape: each y[p] added to the place of the element of window p of x that is the largest (or the least), the
// first of them where several are. After a NaN the comparison begins anew behind it. Linear in y, flat in x; dtypes and
// time as above.
Array select_and_scatter_add(bool largest, const Operand& x, const Operand& y, const WindowPlaces& places);
// Its transpose: the elements of t where those of x are selected, 0 of a window without elements.
Array select_and_gather_add(bool largest, const Operand& x, const Operand& t, const WindowPlaces& places);

}  // namespace tenon
