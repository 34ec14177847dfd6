// Random functions along the axes of an array: orders, what elements up to each give, windows.
#pragma once

#include "tenon/ir/array.h"
#include "tests/programs/choices.h"

namespace tenon::sample {

// Of real arrays of rank 1 or more: all or some in order; where they were, of those that are not rounded.
Array some_order(Choices& c, const Array& x);
// Sums and products of numbers up to each, and extrema of real ones.
Array some_cumulative(Choices& c, const Array& x);
// softmax and the like of real arrays with elements.
Array some_composite(Choices& c, const Array& x);
// Sums, products and extrema of windows of arrays with elements.
Array some_windows(Choices& c, const Array& x);
// Sums and extrema of rows of numbers whose segments `numbers`, one a row, name, in any order or in theirs.
Array some_segments(Choices& c, const Array& x, const Array& numbers);

}  // namespace tenon::sample
