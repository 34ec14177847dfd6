// Sorts along rows beside the standard library's, on one thread.
#include <algorithm>
#include <numeric>
#include <random>

#include "bench/measure.h"
#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

template <class T>
void measure(std::int64_t n) {
  std::mt19937_64 random(1);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& v : values) v = static_cast<T>(std::normal_distribution<double>(0, 1000)(random));
  tn::Buffer buffer = tn::Buffer::allocate(*tn::dtype_of<T>, {n});
  std::ranges::copy(values, buffer.as<T>());
  const Array x(buffer);
  const std::string which = std::string(tn::name(*tn::dtype_of<T>)) + "[" + std::to_string(n) + "]";
  const auto row = [&](const std::string& what, auto function, auto standard) {
    const auto f = tn::jit(function);
    bench::emit(what + " of " + which, "tenon", bench::median_seconds(f, x) * 1e6, "us");
    bench::emit(what + " of " + which, "standard library", bench::median_seconds(standard) * 1e6, "us");
  };
  std::vector<T> sorted;
  std::vector<std::int32_t> order(values.size());
  const auto by_value = [&](std::int32_t i, std::int32_t j) {
    return values[static_cast<std::size_t>(i)] < values[static_cast<std::size_t>(j)];
  };
  row(
      "sort", [](const Array& v) { return tn::sort(v); },
      [&] {
        sorted = values;
        std::sort(sorted.begin(), sorted.end());
        bench::keep(sorted);
      });
  row(
      "argsort", [](const Array& v) { return tn::argsort(v); },
      [&] {
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), by_value);
        bench::keep(order);
      });
  row(
      "top 10", [](const Array& v) { return tn::top_k(v, 10).values; },
      [&] {
        sorted.resize(10);
        std::partial_sort_copy(values.begin(), values.end(), sorted.begin(), sorted.end(), std::greater());
        bench::keep(sorted);
      });
}

}  // namespace

int main() {
  tn::set_threads(1);
  for (const std::int64_t n : {100, 10000, 1000000}) {
    measure<float>(n);
    measure<double>(n);
  }
}
