// Convolutions for generated code, hence the C names.
#pragma once

#include <cstdint>

extern "C" {

// Sums over windows: y[n, p, o] = Σ x[n, p·stride + k·dilation, c] w[k, c, o] over k and the channels c of o's group,
// where p and k have `axes` places each. x is [batch, inputs…, channels], w [window…, channels / groups, features], y
// [batch, outputs…, features], row-major; the channels and the features of a group stand side by side. One of the three
// is made of the other two: what it adds up in that sum, where y is a cotangent of it.
struct TenonConvolution {
  enum Role : std::int64_t { input, weights, output };
  std::int64_t dtype;  // the number of a tenon::DType, no complex one and none of 16 bits but integers
  std::int64_t makes;  // a Role
  std::int64_t groups, axes, batch, channels, features;
  // Behind it, `axes` of each: sizes of x, of the window, of y; strides; dilations.
  const std::int64_t* inputs() const { return reinterpret_cast<const std::int64_t*>(this + 1); }
  const std::int64_t* window() const { return inputs() + axes; }
  const std::int64_t* outputs() const { return window() + axes; }
  const std::int64_t* strides() const { return outputs() + axes; }
  const std::int64_t* dilations() const { return strides() + axes; }
};

// `first` and `second` are those of x, w and y that are given, in this order. Less than 0 where memory is lacking.
std::int64_t tenon_convolution(const TenonConvolution* c, const void* first, const void* second, void* made,
                               void* workspace);
}
