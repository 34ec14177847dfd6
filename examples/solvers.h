// Systems of equations solved by loops: conjugate gradients, and Newton's method, each until the residual is small. The
// derivatives are those of the steps that were taken.
#pragma once

#include "tenon/tenon.h"

namespace examples {

struct Stopping {
  double tolerance = 1e-10;  // of the residual's length
  int most_steps = 100;
};

// x with apply(x) = b, for a symmetric positive definite linear map of vectors (Hestenes and Stiefel 1952).
template <class F>
tenon::Array conjugate_gradients(F apply, const tenon::Array& b, Stopping stopping = {}) {
  using tenon::Array;
  struct State {
    Array x, residual, direction, squares, steps;
  };
  const auto unfinished = [&](const State& s) {
    return (s.squares > stopping.tolerance * stopping.tolerance) & (s.steps < stopping.most_steps);
  };
  const auto step = [&](const State& s) {
    const Array image = apply(s.direction), along = s.squares / tenon::dot(s.direction, image);
    const Array residual = s.residual - along * image, squares = tenon::dot(residual, residual);
    return State{s.x + along * s.direction, residual, residual + squares / s.squares * s.direction, squares,
                 s.steps + 1};
  };
  return tenon::while_loop(unfinished, step, State{tenon::zeros_like(b), b, b, tenon::dot(b, b), 0}).x;
}

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
    const Array x = s.x - conjugate_gradients(normal, std::get<0>(pull(value)), stopping);
    return State{x, f(x), s.steps + 1};
  };
  return tenon::while_loop(unfinished, step, State{start, f(start), 0}).x;
}

}  // namespace examples
