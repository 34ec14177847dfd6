// Convolutions whose groups have few channels and features: no matrices, but rows of channels that are multiplied and
// added up, each place of the window with its own row of weights.
#pragma once

#include "tenon/runtime/linear_algebra/convolution_windows.h"

namespace tenon {

bool has_few_channels(const ConvolutionWindows& windows);

// As tenon_convolution(), of f32 and f64. Rows of what is made are shared by the threads; sums that make weights come
// in parts that do not depend on how many threads there are.
template <class T>
void convolve_channels(const TenonConvolution& c, const ConvolutionWindows& windows, const T* first, const T* second,
                       T* made);

}  // namespace tenon
