// Elements of windows combined: slices of an array, one for each place of a window, and what a function makes of them.
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/ops/reductions/windows.h"

namespace tenon {

struct WindowFold {
  // An associative function of many elements at once, of each array with one that stands behind it.
  FunctionRef<Arrays(const Arrays&, const Arrays&)> combine;
  Arrays fills;  // a number an array, what stands where there is no element
  FunctionRef<Array(const Array&, std::int64_t axis)> reduce = {};  // what combine makes of a whole axis of one array
};

// Of arrays of one shape, of which each becomes one of as many elements as there are windows, combined in row-major
// order. A window of up to 32 places is as many slices, which fuse with what makes and reads them; a larger one is
// taken axis by axis, the last one first, where each costs its sum instead of the product. An axis of more than 16
// places is a reduction where its windows do not overlap, else made of windows of twice the length: log2(places)
// passes.
Arrays fold_windows(Arrays xs, const WindowPlaces& places, const WindowFold& fold);

// A slice for each place of a window, in row-major order: the element that each window of x, whose sizes are known, has
// there, or `fill`. None at places where no window has one.
std::vector<MaybeArray> slices_of_windows(const Array& x, const WindowPlaces& places, const Array& fill);

}  // namespace tenon
