// Two waves, one of which lags behind: the cost of aligning them, and a wave that is moved along the gradient until it
// is like the other, whatever the lag.
#include "examples/soft_dtw.h"

#include <iostream>

namespace tn = tenon;
using tn::Array;

int main() {
  const Array t = tn::arange(40, tn::DType::f32)(tn::all, tn::newaxis) / 40.f;
  const Array wave = tn::sin(9.f * t), later = tn::sin(9.f * (t - 0.1f)), gamma(0.1f);
  const auto cost = tn::jit(tn::value_and_grad([&](const Array& x) { return examples::soft_dtw(x, wave, gamma); }));

  std::cout << "cost of the wave beside itself " << cost(wave).first.item<float>() << ", of one that lags "
            << cost(later).first.item<float>() << ", of a flat line " << cost(0.f * t).first.item<float>() << '\n';

  Array line = 0.f * t;
  for (int step = 0; step < 200; ++step) line = line - 0.05f * cost(line).second;
  std::cout << "after 200 steps along the gradient the line costs " << cost(line).first.item<float>() << '\n';
}
