// Loops that a condition ends, whose reverse pass reads what each step kept in a list; the bodies of limits/loops.cpp.
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

template <class Loop>
void measure(const std::string& name, Loop loop, const Array& start) {
  const auto forward = tn::jit(loop);
  const auto both = tn::jit(tn::value_and_grad(loop));
  const auto milliseconds = [&](const auto& f) {
    return bench::median_seconds([&] {
             auto r = f(start);
             bench::keep(r);
           }) *
           1e3;
  };
  bench::emit(name, "forward", milliseconds(forward), "ms");
  bench::emit(name, "value and gradient, tape", milliseconds(both), "ms");
}

template <class Body>
auto steps(int count, Body body) {
  return [=](Array start) {
    const auto more = [=](std::pair<Array, Array> c) { return c.first < count; };
    const auto step = [=](std::pair<Array, Array> c) { return std::pair(c.first + 1, body(c.second)); };
    const Array end = tn::while_loop(more, step, std::pair(Array(0), start)).second;
    return end.rank() == 0 ? end : tn::sum(end);
  };
}

int main() {
  measure("while of logistic, f32, 2^22 steps", steps(1 << 22, [](Array x) { return 3.7 * x * (1 - x); }),
          tn::convert(Array(0.4), tn::DType::f32));
  measure("while of sin and cos, f32[64], 1e4 steps",
          steps(10000, [](Array s) { return 0.9 * tn::sin(s) + 0.1 * tn::cos(s * s); }),
          tn::arange(64, tn::DType::f32) / 63.0);
}
