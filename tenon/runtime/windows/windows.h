// What windows give back to the array that they lie over, for generated code, hence the C name.
#pragma once

#include <cstdint>

extern "C" {

// made[i] = Σ y[p] over the windows p that element i lies in, or those that select it: i = p·stride + k·dilation - low,
// on each axis, where 0 <= k < window.
struct TenonWindows {
  enum Selects : std::int64_t { all, largest, least };  // of each window: the first of these elements of x
  std::int64_t dtype;                                   // the number of a tenon::DType, a real one or an integer
  std::int64_t selects;
  std::int64_t axes;
  // Behind it, `axes` of each: sizes of what is made, of y; places of the window; strides; dilations; low.
  const std::int64_t* inputs() const { return reinterpret_cast<const std::int64_t*>(this + 1); }
  const std::int64_t* outputs() const { return inputs() + axes; }
  const std::int64_t* window() const { return outputs() + axes; }
  const std::int64_t* strides() const { return window() + axes; }
  const std::int64_t* dilations() const { return strides() + axes; }
  const std::int64_t* low() const { return dilations() + axes; }
};

// All of them row-major. Less than 0 where memory is lacking.
std::int64_t tenon_window_spread(const TenonWindows* windows, const void* y, void* made, void* workspace);
std::int64_t tenon_window_scatter(const TenonWindows* windows, const void* x, const void* y, void* made,
                                  void* workspace);
}
