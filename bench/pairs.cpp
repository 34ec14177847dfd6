// Reductions over pairs of points in three dimensions, beside bench/limits/map_reduce.cpp: a Gaussian kernel's product,
// its gradients, log-sum-exp and the nearest point; and a product of 16 columns. In 10 and 64 dimensions, beside
// bench/limits/long_rows.cpp. And the nearest of few points for many, and a step of k-means, beside
// bench/limits/nearest.cpp.
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

Array drawn(std::uint64_t seed, const tn::Shape& shape) { return tn::random::uniform(tn::random::key(seed), shape); }

Array squared_distances(const Array& x, const Array& y) {
  const tn::Shape all{x.shape()[0], y.shape()[0], x.shape()[1]};
  return tn::sum(tn::square(tn::broadcast_in_dim(x, all, {0, 2}) - tn::broadcast_in_dim(y, all, {1, 2})), 2);
}
Array product(const Array& x, const Array& y, const Array& b) {
  return tn::matmul(tn::exp(-squared_distances(x, y)), b);
}
Array total(const Array& x, const Array& y, const Array& b) { return tn::sum(product(x, y, b)); }

// The means of the points that are nearest to each centre, 0 where there are none.
Array k_means_step(const Array& x, const Array& centres) {
  const Array label = tn::argmin(squared_distances(x, centres), 1);
  const auto sums = [&](const Array& start, const Array& of) {
    return tn::scatter_at(tn::ScatterKind::add, start, std::vector{label}, {0}, of);
  };
  const Array count = sums(tn::zeros({centres.dim(0)}, x.dtype()), tn::full({x.dim(0)}, Array(1.0F)));
  return sums(tn::zeros(centres.shape(), x.dtype()), x) / tn::expand_dims(tn::max(count, 1.0F), -1);
}

template <class F>
void measure(const std::string& name, const char* figure, F f) {
  bench::emit(name, figure, bench::median_seconds(f) * 1e3, "ms");
}
void measure_product(const std::string& name, const Array& x, const Array& y, const Array& b) {
  const auto forward = tn::jit(product);
  const auto by_all = tn::jit(tn::grad<0, 1, 2>(total));
  measure(name, "forward", [&] { return forward(x, y, b); });
  measure(name, "gradient in x, y and b", [&] { return by_all(x, y, b); });
}
std::string kernel(std::int64_t n) { return "Gaussian kernel, " + std::to_string(n) + " points"; }

}  // namespace

int main() {
  for (const std::int64_t n : {1'000, 10'000, 30'000}) {
    const Array x = drawn(1, {n, 3}), y = drawn(2, {n, 3}), b = drawn(3, {n}), columns = drawn(4, {n, 16});
    const auto of_columns = tn::jit(product);
    const auto by_x = tn::jit(tn::grad(total));
    const auto logsumexp =
        tn::jit([](const Array& x, const Array& y) { return tn::logsumexp(-squared_distances(x, y), 1); });
    const auto nearest = tn::jit([](const Array& x, const Array& y) { return tn::argmin(squared_distances(x, y), 1); });
    measure_product(kernel(n), x, y, b);
    measure(kernel(n), "gradient in x", [&] { return by_x(x, y, b); });
    measure(kernel(n), "log-sum-exp", [&] { return logsumexp(x, y); });
    measure(kernel(n), "nearest", [&] { return nearest(x, y); });
    measure(kernel(n), "16 columns", [&] { return of_columns(x, y, columns); });
  }
  for (const auto& [n, dtype] : {std::pair(100'000, tn::DType::f32), std::pair(10'000, tn::DType::f64)}) {
    const Array x = convert(drawn(1, {n, 3}), dtype), y = convert(drawn(2, {n, 3}), dtype),
                b = convert(drawn(3, {n}), dtype);
    measure_product(kernel(n) + (dtype == tn::DType::f64 ? ", f64" : ""), x, y, b);
  }
  for (const std::int64_t dimensions : {10, 64}) {
    const std::int64_t n = 5'000;
    const std::string name = kernel(n) + " of " + std::to_string(dimensions) + " dimensions";
    const auto scale = 2 / std::sqrt(static_cast<double>(dimensions));
    const Array x = scale * drawn(1, {n, dimensions}), y = scale * drawn(2, {n, dimensions}), b = drawn(3, {n});
    measure_product(name, x, y, b);
  }
  {
    const std::string name = "nearest of 1000, 100000 points";
    const Array x = drawn(1, {100'000, 3}), y = drawn(2, {1'000, 3});
    const auto ten = tn::jit([](const Array& x, const Array& y) {
      const tn::TopK found = tn::top_k(-squared_distances(x, y), 10);
      return std::pair(found.values, found.indices);
    });
    const auto step = tn::jit(k_means_step);
    measure(name, "ten nearest", [&] { return ten(x, y); });
    measure(name, "k-means step", [&] { return step(x, y); });
  }
  return 0;
}
