// Reductions by indices, beside bench/limits/segments.cpp: the gradient of an embedding, sums, maxima and a softmax of
// a graph's edges by node, and a histogram.
#include <algorithm>

#include "bench/filled.h"
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

std::vector<std::int32_t> drawn(std::int64_t n, std::uint32_t seed, std::uint32_t below) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(bench::mixed(static_cast<std::uint32_t>(i) + seed * 0x9E3779B9u) % below);
  return ids;
}

template <class F>
void measure(const std::string& name, const char* figure, F f) {
  bench::emit(name, figure, bench::median_seconds(f) * 1e3, "ms");
  const std::string check = std::string("checksum ").append(figure);
  bench::emit(name, check, bench::weighted(f()), "");
}

Array segments(tn::ScatterKind kind, const Array& start, const Array& ids, const Array& updates) {
  return tn::scatter_at(kind, start, std::vector{ids}, {0}, updates);
}
Array segment_max(const Array& s, const Array& to, std::int64_t nodes) {
  return segments(tn::ScatterKind::max, tn::full({nodes}, Array(-100.0F)), to, s);
}

void embedding() {
  constexpr std::int64_t vocabulary = 50'000;
  const Array ids = tn::reshape(tn::from(drawn(32 * 512, 1, vocabulary / 4)), {32, 512});
  const Array w = bench::filled({32, 512, 64}, 2), table = bench::filled({vocabulary, 64}, 3);
  const auto loss = [](const Array& table, const Array& ids, const Array& w) {
    return tn::sum(tn::take(table, ids) * w);
  };
  const auto gradient = tn::jit(tn::grad(loss));
  measure("embedding gradient, 50,000 x 64, 32 x 512 tokens", "gradient", [&] { return gradient(table, ids, w); });
}

void graph() {
  constexpr std::int64_t edges = 1'000'000, nodes = 100'000;
  const Array w = bench::filled({edges}, 3), s = bench::filled({edges}, 4), x = bench::filled({nodes, 16}, 5);
  const Array from = tn::from(drawn(edges, 6, nodes));
  std::vector<std::int32_t> ids = drawn(edges, 7, nodes);
  const auto sum = tn::jit([](const Array& x, const Array& w, const Array& from, const Array& to) {
    const Array messages = tn::take(x, from) * tn::reshape(w, {edges, 1});
    return segments(tn::ScatterKind::add, tn::zeros({nodes, 16}, tn::DType::f32), to, messages);
  });
  const auto largest = tn::jit([](const Array& s, const Array& to) { return segment_max(s, to, nodes); });
  const auto softmax = tn::jit([](const Array& s, const Array& to) {
    const Array e = tn::exp(s - tn::take(segment_max(s, to, nodes), to));
    return e / tn::take(segments(tn::ScatterKind::add, tn::zeros({nodes}, tn::DType::f32), to, e), to);
  });
  for (const char* name : {"graph, 1e6 edges", "graph, 1e6 edges, sorted"}) {
    const Array to = tn::from(ids);
    measure(name, "sum of 16 features", [&] { return sum(x, w, from, to); });
    measure(name, "segment max", [&] { return largest(s, to); });
    measure(name, "segment softmax", [&] { return softmax(s, to); });
    std::ranges::sort(ids);
  }
}

void histogram() {
  constexpr std::int64_t n = 10'000'000;
  const Array bins = tn::from(drawn(n, 8, 256)), w = bench::filled({n}, 9);
  const auto weighted_counts = tn::jit([](const Array& bins, const Array& w) {
    return segments(tn::ScatterKind::add, tn::zeros({256}, tn::DType::f32), bins, w);
  });
  measure("histogram, 1e7 values, 256 bins", "weighted", [&] { return weighted_counts(bins, w); });
}

}  // namespace

int main() {
  embedding();
  graph();
  histogram();
  return 0;
}
