// ODE: y'ᵢ = xᵢ·yᵢ₋₁ with y₋₁ = 1, from y = 0 at time 0 to time 2 by Runge and Kutta's fourth order; the gradient of
// the last component in x.
#pragma once

#include "bench/gradbench/data.h"

namespace gradbench::ode {

struct Inputs {
  int n, steps;
  Values x;
  Inputs(int n, int steps) : n(n), steps(steps), x(values(1, static_cast<std::size_t>(n), 0.5, 1.5)) {}
  std::string name() const { return "gradbench ode n" + std::to_string(n) + " s" + std::to_string(steps); }
};

// to = y + a·slope
inline void move(const Values& y, double a, const Values& slope, Values& to) {
  for (std::size_t i = 0; i < y.size(); ++i) to[i] = y[i] + a * slope[i];
}
// slope = x·(1, y₀, y₁, …), and the reverse: from the slope's cotangent to those of x and y.
inline void slope_of(const Values& x, const Values& y, Values& slope) {
  slope[0] = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) slope[i] = x[i] * y[i - 1];
}
inline void back(const Values& x, const Values& y, const Values& d_slope, Values& dx, Values& dy) {
  dx[0] += d_slope[0];
  dy.back() = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    dx[i] += d_slope[i] * y[i - 1];
    dy[i - 1] = d_slope[i] * x[i];
  }
}

inline Result by_hand(const Inputs& in, bool gradient) {
  const std::size_t n = in.x.size();
  const double h = 2.0 / in.steps;
  const double moves[] = {0, h / 2, h / 2, h}, shares[] = {h / 6, h / 3, h / 3, h / 6};
  Values y(n), from(n), tape;  // where each of the four slopes of a step was taken
  Values slope(n), next(n);
  for (int step = 0; step < in.steps; ++step) {
    next = y;
    for (int s = 0; s < 4; ++s) {
      move(y, moves[s], slope, from);  // the first moves by nothing
      if (gradient) tape.insert(tape.end(), from.begin(), from.end());
      slope_of(in.x, from, slope);
      move(next, shares[s], slope, next);
    }
    y.swap(next);
  }
  Result result{y.back(), Values(gradient ? n : 0)};
  if (!gradient) return result;
  Values dy(n), d_from(n), d_slope(n), sum(n);
  dy.back() = 1;
  for (int step = in.steps; step-- > 0;) {
    sum = dy;
    for (int s = 4; s-- > 0;) {
      // A slope is a share of the step, and moves where the slope behind it is taken.
      for (std::size_t i = 0; i < n; ++i) d_slope[i] = shares[s] * dy[i] + (s < 3 ? moves[s + 1] * d_from[i] : 0);
      const auto at = tape.begin() + static_cast<std::ptrdiff_t>((static_cast<std::size_t>(step) * 4 + s) * n);
      from.assign(at, at + static_cast<std::ptrdiff_t>(n));
      back(in.x, from, d_slope, result.derivative, d_from);
      move(sum, 1, d_from, sum);
    }
    dy.swap(sum);
  }
  return result;
}

}  // namespace gradbench::ode
