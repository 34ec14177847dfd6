// What a call costs beyond its arithmetic, from C++.
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

int main() {
  const Array x = tn::arange(8, tn::DType::f32);
  const auto next = tn::jit([](Array x) { return x + 1.f; });
  const auto one = bench::call_seconds([&] {
    auto r = next(x);
    bench::keep(r);
  });
  bench::emit("call, one array f32[8]", "median", one.median * 1e6, "us");
  bench::emit("call, one array f32[8]", "p99", one.p99 * 1e6, "us");
  std::vector<Array> tree(100, x);
  const auto all = tn::jit([](std::vector<Array> t) {
    for (Array& a : t) a = a + 1.f;
    return t;
  });
  bench::emit("call, tree of 100 leaves", "median", bench::median_seconds(all, tree) * 1e6, "us");
  bench::emit("eager add f32[8]", "median", bench::median_seconds([&] { return x + x; }) * 1e6, "us");
}
