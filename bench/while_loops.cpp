// Loops that a condition ends, whose reverse pass reads what each step kept in a list, or runs steps again from
// checkpoints; the bodies of limits/loops.cpp.
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

// `steps`: of a number of checkpoints.
template <class Steps>
void measure(const std::string& name, Steps steps, std::int64_t checkpoints, const Array& start) {
  const auto forward = tn::jit(steps(std::nullopt));
  const auto both = tn::jit(tn::value_and_grad(steps(std::nullopt)));
  const auto frugal = tn::jit(tn::value_and_grad(steps(checkpoints)));
  const auto milliseconds = [&](const auto& f) {
    return bench::median_seconds([&] {
             auto r = f(start);
             bench::keep(r);
           }) *
           1e3;
  };
  bench::emit(name, "forward", milliseconds(forward), "ms");
  bench::emit(name, "value and gradient, tape", milliseconds(both), "ms");
  bench::emit(name, "value and gradient, " + std::to_string(checkpoints) + " checkpoints", milliseconds(frugal), "ms");
}

template <class Body>
auto steps(int count, Body body) {
  return [=](std::optional<std::int64_t> checkpoints) {
    return [=](Array start) {
      const auto more = [=](std::pair<Array, Array> c) { return c.first < count; };
      const auto step = [=](std::pair<Array, Array> c) { return std::pair(c.first + 1, body(c.second)); };
      const Array end = tn::while_loop(more, step, std::pair(Array(0), start), {.checkpoints = checkpoints}).second;
      return end.rank() == 0 ? end : tn::sum(end);
    };
  };
}

int main() {
  measure("while of logistic, f32, 2^22 steps", steps(1 << 22, [](Array x) { return 3.7 * x * (1 - x); }), 32,
          tn::convert(Array(0.4), tn::DType::f32));
  measure("while of sin and cos, f32[64], 1e4 steps",
          steps(10000, [](Array s) { return 0.9 * tn::sin(s) + 0.1 * tn::cos(s * s); }), 64,
          tn::arange(64, tn::DType::f32) / 63.0);
}
