// Sums over the corners of the cells of a grid that points lie in.
#pragma once

#include <vector>

#include "tenon/ir/array.h"

namespace tenon::interpolate {

// One of the places along an axis that a point reads, arrays of the points' shape: its index, what the element there is
// multiplied by (where that is not 1), and whether it is there (where that is not so of all).
struct Place {
  Array index;
  MaybeArray weight = {}, there = {};
};

// Σ weights · x[places] over one place of each of the first axes of x, as many as `axes` has. Shape: that of the
// points, then the rest of x's. `fill` stands for elements that are not there.
Array sum_over_corners(const Array& x, const std::vector<std::vector<Place>>& axes, const Array& fill);

}  // namespace tenon::interpolate
