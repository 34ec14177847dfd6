// Convolutions in the layout that their code takes: [batch, places…, channels].
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// Steps of the window from one output to the next, and of its places along x; channels in as many groups, each of which
// makes its part of the features.
struct WindowSteps {
  std::vector<std::int64_t> strides, dilations;
  std::int64_t groups = 1;
};

// y[n, p, o] = Σ x[n, p·stride + k·dilation, c] w[k, c, o] over the window's places k and the channels c of o's group.
// x: [n, places…, channels]; w: [window…, channels / groups, features]; y: [n, outputs…, features], of as many outputs
// as windows lie inside of x. Real numbers and integers of one dtype, no 16-bit floats.
Array convolve(const Operand& x, const Operand& w, const WindowSteps& steps);
// The cotangent of x, whose places are `inputs`, and that of w, whose places are `window`, where y is that of the
// result.
Array convolve_to_input(const Operand& w, const Operand& y, const WindowSteps& steps, std::vector<Dim> inputs);
Array convolve_to_weights(const Operand& x, const Operand& y, const WindowSteps& steps, std::vector<Dim> window);

}  // namespace tenon
