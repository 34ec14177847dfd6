// Recurrent cases: a GRU's training step, and what users write in the step or in two loops, beside what they would
// write for speed.
#include <algorithm>
#include <cmath>

#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

struct Gru {
  Array w, u, b, bn, o;
};

Array wave(std::vector<std::int64_t> shape, float scale, float phase) {
  std::int64_t n = 1;
  for (auto d : shape) n *= d;
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = scale * std::sin(0.37f * static_cast<float>(i) + phase);
  return tn::array<float>(v, shape);
}

Array gru_loss(const Gru& p, const Array& xs, const Array& ys) {
  const std::int64_t h = 64;
  const auto part = [&](const Array& a, std::int64_t i) { return tn::slice_in_dim(a, i * h, (i + 1) * h, -1); };
  auto cell = [&](const Array& state, const Array& x) {
    const Array in = tn::matmul(x, p.w) + p.b, rec = tn::matmul(state, p.u);
    const Array r = tn::logistic(part(in, 0) + part(rec, 0)), z = tn::logistic(part(in, 1) + part(rec, 1));
    const Array n = tn::tanh(part(in, 2) + r * (part(rec, 2) + p.bn));
    const Array next = n + z * (state - n);
    return std::pair(next, next);
  };
  const Array hs = tn::scan(cell, tn::zeros({xs.dim(1), h}), xs).second;
  return tn::mean(tn::square(tn::matmul(hs, p.o) - ys));
}

// How much longer one way takes than another, measured in turns.
template <class F, class G, class... A>
void ratio(const char* name, const char* figure, F written, G fast, const A&... a) {
  double first = 1e9, second = 1e9;
  for (int turn = 0; turn < 3; ++turn) {
    first = std::min(first, bench::median_seconds(written, a...));
    second = std::min(second, bench::median_seconds(fast, a...));
  }
  bench::emit(name, figure, first / second, "ratio");
}

// A cell whose product with the input stands in the step, and the same with that product taken before the loop.
void one_row() {
  const auto cell = [](const Array& u) {
    return [=](const Array& h, const Array& x) {
      const Array next = tn::tanh(tn::matmul(h, u) + x);
      return std::pair(next, next);
    };
  };
  const auto written = [=](const Array& u, const Array& w, const Array& xs) {
    const auto step = [&](const Array& h, const Array& x) { return cell(u)(h, tn::matmul(x, w)); };
    return tn::sum(tn::square(tn::scan(step, tn::zeros({1, 256}), xs).second));
  };
  const auto fast = [=](const Array& u, const Array& w, const Array& xs) {
    return tn::sum(tn::square(tn::scan(cell(u), tn::zeros({1, 256}), tn::matmul(xs, w)).second));
  };
  const Array u = wave({256, 256}, .05f, 0), w = wave({256, 256}, .05f, 1), xs = wave({500, 1, 256}, 1, 2);
  const char* name = "RNN cell of one row, products in the step, T500 D256";
  ratio(name, "forward, to products before", tn::jit(written), tn::jit(fast), u, w, xs);
  ratio(name, "value and gradient, to products before", tn::jit(tn::value_and_grad<0, 1>(written)),
        tn::jit(tn::value_and_grad<0, 1>(fast)), u, w, xs);
}

// Filters one behind the other, each a scan, and all of them in one scan.
void filters() {
  const auto filter = [](const Array& c, const Array& x) {
    const Array next = c * 0.5f + x;
    return std::pair(next, next);
  };
  const auto written = [=](const Array& xs) {
    Array all = xs;
    for (int i = 0; i < 3; ++i) all = tn::scan(filter, tn::zeros({32, 128}), all).second;
    return tn::sum(tn::square(all));
  };
  const auto fast = [](const Array& xs) {
    using State = std::tuple<Array, Array, Array>;
    const auto step = [](const State& c, const Array& x) {
      const Array a = std::get<0>(c) * 0.5f + x, b = std::get<1>(c) * 0.5f + a, d = std::get<2>(c) * 0.5f + b;
      return std::pair(State(a, b, d), d);
    };
    const Array first = tn::zeros({32, 128});
    return tn::sum(tn::square(tn::scan(step, State(first, first, first), xs).second));
  };
  const Array xs = wave({1000, 32, 128}, 1.7f, 0);
  const char* name = "three filters, a scan each, T1000 B32 D128";
  ratio(name, "forward, to one scan", tn::jit(written), tn::jit(fast), xs);
  ratio(name, "value and gradient, to one scan", tn::jit(tn::value_and_grad(written)),
        tn::jit(tn::value_and_grad(fast)), xs);
}

int main() {
  one_row();
  filters();
  const Gru p{wave({8, 192}, .1f, 0), wave({64, 192}, .1f, 1), tn::zeros({192}), tn::zeros({64}),
              wave({64, 8}, .1f, 2)};
  const Array xs = wave({100, 32, 8}, 1, 3), ys = wave({100, 32, 8}, 1, 4);
  auto step = [](const Gru& p, const Array& xs, const Array& ys) {
    const auto [value, g] = tn::value_and_grad(gru_loss)(p, xs, ys);
    return std::pair(value, tn::tree::map([](const Array& a, const Array& d) { return a - 0.01f * d; }, p, g));
  };
  bench::emit("GRU step, H64 D8 T100 B32", "bytes kept for reverse",
              static_cast<double>(tn::saved_residuals(gru_loss)(p, xs, ys).bytes()), "bytes");
  const double start = bench::now();
  const auto fast = tn::jit(step);
  auto first = fast(p, xs, ys);
  bench::emit("GRU step, H64 D8 T100 B32", "trace and compile", (bench::now() - start) * 1e3, "ms");
  bench::emit("GRU step, H64 D8 T100 B32", "step", bench::median_seconds(fast, p, xs, ys) * 1e3, "ms");
}
