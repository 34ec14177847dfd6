// A step along a line at whose end the strong Wolfe conditions hold: of vectors, for minimisers.
#pragma once

#include <functional>

#include "tenon/ir/array.h"

namespace tenon::api_detail {

struct ValueAndSlope {
  Array value, gradient;
};
using Slope = std::function<ValueAndSlope(const Array& x)>;

// A place, a direction in which the function decreases, and its slope along it.
struct DescentLine {
  Array x, value, gradient, direction, slope;
};
// status: 0 where the conditions hold; 3 where the interval that brackets such a step has become too small, or was made
// smaller too often; 5 where none was bracketed. Where they do not hold, the best step that was found: maybe 0.
struct LineSearch {
  Array length, value, gradient, evaluations, status;
};
// `first`: the length that is tried first. One loop, of one value with its gradient a turn (Nocedal and Wright 2006,
// algorithms 3.5 and 3.6).
LineSearch line_search(const Slope& f, const DescentLine& line, const Array& first, std::int64_t most_tries);

}  // namespace tenon::api_detail
