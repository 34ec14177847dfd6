// Systems of equations solved by Newton's method until the residual is small. The derivatives are those of the steps
// that were taken, and of each step those of the linear system that it solves.
#pragma once

#include "tenon/tenon.h"

namespace examples {

struct Stopping {
  double tolerance = 1e-10;  // of the residual's length
  int most_steps = 100;
};

// x with f(x) = 0, from a start near it; f: a vector to a vector as long. Each step solves with the Jacobian, by
// conjugate gradients on its normal equations. A start that is the solution takes no step, and so has no derivatives.
template <class F>
tenon::Array newton(F f, const tenon::Array& start, Stopping stopping = {}) {
  using tenon::Array;
  struct State {
    Array x, value, steps;
  };
  const auto unfinished = [&](const State& s) {
    return (tenon::norm(s.value) > stopping.tolerance) & (s.steps < stopping.most_steps);
  };
  const auto step = [&](const State& s) {
    const auto [value, push] = tenon::linearize(f, s.x);
    const auto pull = tenon::vjp(f, s.x).second;
    const auto normal = [&](const Array& v) { return std::get<0>(pull(push(v))); };
    const Array x = s.x - tenon::linalg::cg(normal, std::get<0>(pull(value)), {.tol = 0.0, .atol = stopping.tolerance});
    return State{x, f(x), s.steps + 1};
  };
  return tenon::while_loop(unfinished, step, State{start, f(start), 0}).x;
}

}  // namespace examples
