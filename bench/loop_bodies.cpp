// Nanoseconds a step of loops with small bodies, forward, and value and gradient; the bodies of
// limits/loop_overhead.cpp.
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

template <class Loop, class Carry>
void measure(const std::string& name, long steps, Loop loop, const Carry& start) {
  const auto forward = tn::jit(loop);
  const auto both = tn::jit(tn::value_and_grad(loop));
  bench::emit(name, "forward", bench::median_seconds(forward, start) / steps * 1e9, "ns/iter");
  bench::emit(name, "value and gradient", bench::median_seconds(both, start) / steps * 1e9, "ns/iter");
}

template <class Body>
auto repeat(long steps, Body body) {
  return [=](Array start) {
    const auto end = tn::scan([&](Array c, std::tuple<>) { return std::pair(body(c), std::tuple<>()); }, start,
                              std::tuple<>(), {.length = tn::Dim(steps)})
                         .first;
    return end.rank() == 0 ? end : tn::sum(end);
  };
}

int main() {
  constexpr long many = 1000000, some = 100000;
  for (const tn::DType dtype : {tn::DType::f32, tn::DType::f64}) {
    const std::string of = std::string(tn::name(dtype)) + ", 1e6 steps";
    measure("scan of sin, " + of, many, repeat(many, [](Array c) { return tn::sin(c) + 1e-3; }),
            tn::convert(Array(0.5), dtype));
    measure("scan of logistic, " + of, many, repeat(many, [](Array c) { return 3.7 * c * (1 - c); }),
            tn::convert(Array(0.5), dtype));
  }
  const Array a = tn::eye(3, tn::DType::f64) + 0.01;
  measure("scan of two 3x3 products, f64", some,
          repeat(some, [&](Array b) { return 0.5 * tn::matmul(tn::matmul(a, b), a); }), 0.3 * a);
  measure("scan of 40 ops on f32[8]", some,
          repeat(some,
                 [](Array v) {
                   for (int i = 0; i < 10; ++i) v = v * 0.9 + 0.05 - 0.01 * v * v;
                   return v;
                 }),
          tn::arange(8, tn::DType::f32) / 7.0);
  using Scalars = std::vector<Array>;
  Scalars v;
  for (int i = 0; i < 60; ++i) v.push_back(tn::convert(Array(i / 59.0), tn::DType::f32));
  measure(
      "scan of 60 scalars, 150 ops, 614 steps", 614,
      [](const Scalars& start) {
        const Scalars end = tn::scan(
                                [](const Scalars& s, std::tuple<>) {
                                  Scalars next;
                                  for (std::size_t k = 0; k < s.size(); ++k)
                                    next.push_back(s[k] * 0.99 + s[(k + 1) % s.size()] * 0.01);
                                  return std::pair(next, std::tuple<>());
                                },
                                start, std::tuple<>(), {.length = tn::Dim(614)})
                                .first;
        Array sum = end[0];
        for (std::size_t k = 1; k < end.size(); ++k) sum = sum + end[k];
        return sum;
      },
      v);
}
