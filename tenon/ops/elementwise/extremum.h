// The larger and the smaller of two numbers, as the reference evaluator takes them everywhere.
#pragma once

#include <cmath>
#include <type_traits>

namespace tenon {

// NaN where either is; of zeros, the maximum is +0 and the minimum -0.
template <bool largest, class T>
T extremum(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return x;
    if (std::isnan(y)) return y;
    if (x == y) return std::signbit(x) == largest ? y : x;
  }
  return (x > y) == largest ? x : y;
}

}  // namespace tenon
