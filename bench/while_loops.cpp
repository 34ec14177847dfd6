// Loops that a condition ends, whose reverse pass reads what each step kept in a list, or runs steps again from
// checkpoints; the bodies of limits/loops.cpp. And loops under vmap that end apart, as limits/lanes.cpp.
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
  const auto milliseconds = [&](const auto& f) { return bench::median_seconds(f, start) * 1e3; };
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

// Of each c the steps of z² + c until |z| > 2, at most 256.
Array escape_time(const Array& a, const Array& b) {
  using State = std::tuple<Array, Array, Array>;
  const auto goes_on = [](State s) {
    const auto& [x, y, n] = s;
    return (x * x + y * y <= 4.0F) & (n < 256);
  };
  const auto step = [=](State s) {
    const auto& [x, y, n] = s;
    return State(x * x - y * y + a, 2.0F * x * y + b, n + 1);
  };
  const Array zero = tn::full({}, Array(0.0F));
  return std::get<2>(tn::while_loop(goes_on, step, State(zero, zero, Array(0))));
}

void measure_lanes() {
  const std::int64_t n = 1000;
  const auto axis = [&](float begin) { return begin + 2.5F / (n - 1) * tn::arange(n, tn::DType::f32); };
  const Array a = tn::reshape(tn::broadcast_in_dim(axis(-2), {n, n}, {1}), {n * n});
  const Array b = tn::reshape(tn::broadcast_in_dim(axis(-1.25F), {n, n}, {0}), {n * n});
  const auto times = tn::jit(tn::vmap(escape_time));
  const std::string name = "escape times of 10^6 points";
  bench::emit(name, "forward", bench::median_seconds(times, a, b) * 1e3, "ms");
  bench::emit(name, "steps", tn::sum(tn::convert(times(a, b), tn::DType::f64)).item<double>(), "");
}

int main() {
  measure_lanes();
  measure("while of logistic, f32, 2^22 steps", steps(1 << 22, [](Array x) { return 3.7 * x * (1 - x); }), 32,
          tn::convert(Array(0.4), tn::DType::f32));
  measure("while of sin and cos, f32[64], 1e4 steps",
          steps(10000, [](Array s) { return 0.9 * tn::sin(s) + 0.1 * tn::cos(s * s); }), 64,
          tn::arange(64, tn::DType::f32) / 63.0);
}
