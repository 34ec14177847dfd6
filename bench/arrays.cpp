// Elementwise chains and row reductions, forward and gradient of the sum of squares; the cases of
// limits/elementwise.cpp.
#include "bench/filled.h"
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

std::string only;  // measured are cases whose name has this in it

template <class F, class... Args>
void measure(const std::string& name, F f, const Args&... args) {
  if (name.find(only) == std::string::npos) return;
  const auto forward = tn::jit(f);
  bench::emit(name, "forward", bench::median_seconds(forward, args...) * 1e3, "ms");
  const std::tuple<Args...> all(args...);
  const auto gradient =
      tn::jit(tn::grad([&f](const std::tuple<Args...>& a) { return tn::sum(tn::square(std::apply(f, a))); }));
  bench::emit(name, "gradient", bench::median_seconds(gradient, all) * 1e3, "ms");
}

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  for (const auto& [n, size] : {std::pair{5000000L, "5 M"}, {100000L, "100 k"}}) {
    const Array x = bench::filled({n}, 1, -2, 2), y = bench::filled({n}, 2, -2, 2), z = bench::filled({n}, 3, -2, 2);
    measure(
        std::string("gelu*y+tanh, ") + size,
        [](Array x, Array y, Array z) {
          return 0.5 * x * (1 + tn::tanh(0.7978845608 * (x + 0.044715 * x * x * x))) * y + tn::tanh(z);
        },
        x, y, z);
    measure(
        std::string("20 x sin, ") + size,
        [](Array x) {
          for (int i = 0; i < 20; ++i) x = tn::sin(x) + 0.1;
          return x;
        },
        x);
  }
  for (const auto& [shape, size] :
       {std::pair{std::vector<std::int64_t>{256, 256, 256}, "256^3"}, {std::vector<std::int64_t>{98, 1024}, "100 k"}})
    measure(
        std::string("sum of squared differences, ") + size, [](Array x, Array y) { return tn::sum(tn::square(x - y)); },
        bench::filled(shape, 1, 0, .01f), bench::filled(shape, 2, 0, .01f));
  // Along rows that stay in the first-level cache, along rows that fit none, and down columns.
  for (const auto& [rows, columns, axis, size] : {std::tuple{4096L, 1024L, 1L, "[4096,1024]"},
                                                  {98L, 1024L, 1L, "[98,1024]"},
                                                  {16L, 1L << 20, 1L, "[16,2^20]"},
                                                  {1024L, 4096L, 0L, "down [1024,4096]"}}) {
    const Array x = bench::filled({rows, columns}, 1, -2, 2);
    const tn::Axes along(axis);
    measure(std::string("row softmax, ") + size, [=](Array x) { return tn::softmax(x, along); }, x);
    measure(
        std::string("layer norm, ") + size,
        [=](Array x) {
          const Array centred = x - tn::mean(x, along.keepdims());
          return centred * tn::rsqrt(tn::mean(tn::square(centred), along.keepdims()) + 1e-5);
        },
        x);
    measure(std::string("logsumexp, ") + size, [=](Array x) { return tn::logsumexp(x, along); }, x);
  }
}
