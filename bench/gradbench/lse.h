// LSE: the logarithm of a sum of exponentials; its gradient is the weights.
#pragma once

#include <algorithm>

#include "bench/gradbench/data.h"

namespace gradbench::lse {

struct Inputs {
  Values x;
  explicit Inputs(int n) : x(values(1, static_cast<std::size_t>(n), -10, 10)) {}
  std::string name() const { return "gradbench lse n" + std::to_string(x.size()); }
};

inline Result by_hand(const Inputs& in, bool gradient) {
  if (gradient) {
    Result result{0, in.x};
    result.value = log_sum_exp(result.derivative.data(), static_cast<int>(in.x.size()));
    return result;
  }
  const double largest = *std::max_element(in.x.begin(), in.x.end());
  double sum = 0;
  for (const double x : in.x) sum += std::exp(x - largest);
  return {largest + std::log(sum)};
}

}  // namespace gradbench::lse
