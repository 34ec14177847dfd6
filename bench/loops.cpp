// Loops that update their carries, with derivatives: the five variants of a thread on loops and reverse mode by the
// number of steps, with fitted exponents of time and memory; element updates of a large carry; a batched while that
// fills a buffer. Beside limits/loops.cpp.
#include <cmath>
#include <string_view>
#include <thread>

#include "bench/measure.h"
#include "tenon/runtime/memory/allocator.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

// Bytes that a call needs at most beyond its arguments, its result included: measured, not planned, in a thread of its
// own, which has kept no memory for intermediate values from calls before. Right to within 64 KiB.
template <class F>
double peak_bytes(F&& call) {
  tn::reset_peak_memory();
  const std::size_t before = tn::memory_statistics().live_bytes;
  std::thread(call).join();
  return static_cast<double>(tn::memory_statistics().peak_bytes - before);
}

// The slope of the logarithms by least squares, where costs are large enough to be measured; 0 where few are.
double exponent(const std::vector<double>& sizes, const std::vector<double>& costs, double least = 0) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i] < least) continue;
    const double x = std::log(sizes[i]), y = std::log(std::max(costs[i], 1e-12));
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  if (n < 2) return 0;
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

// ---- The five variants: f(xs, c0) = sum(c_T * ys), xs: f32[T,F].
using Variant = Array (*)(const Array& xs, const Array& c0);

Array stacked(const Array& xs, const Array& c0) {
  const auto [c, ys] = tn::scan(
      [](Array c, Array x) {
        const Array next = tn::sin(tn::sin(x) * c) + 0.1f;
        return std::pair(next, next);
      },
      c0, xs);
  return tn::sum(c * ys);
}

struct Buffers {
  Array i, c, xs, ys;
};
template <class Next, class Write>
Array updated(const Array& xs, const Array& c0, Next next, Write write) {
  const auto step = [&](const Buffers& s, std::tuple<>) {
    const Array c = next(s);
    return std::pair(Buffers{s.i + 1, c, s.xs, write(s, c)}, std::tuple<>());
  };
  const Buffers end =
      tn::scan(step, Buffers{Array(0), c0, xs, tn::zeros_like(xs)}, std::tuple<>(), {.length = xs.dim(0)}).first;
  return tn::sum(end.c * end.ys);
}
Array elementwise(const Buffers& s) { return tn::sin(tn::sin(s.xs(s.i)) * s.c) + 0.1f; }
Array write_row(const Buffers& s, const Array& c) { return s.ys.at(s.i).set(c); }

Array update(const Array& xs, const Array& c0) { return updated(xs, c0, elementwise, write_row); }
Array update_where(const Array& xs, const Array& c0) {
  return updated(xs, c0, elementwise,
                 [](const Buffers& s, const Array& c) { return tn::where(s.i > -10, s.ys.at(s.i).set(c), s.ys); });
}
Array update_twice(const Array& xs, const Array& c0) {
  return updated(xs, c0, elementwise,
                 [](const Buffers& s, const Array& c) { return s.ys.at(s.i).set(s.c).at(s.i).set(c); });
}
Array read_all(const Array& xs, const Array& c0) {
  const auto next = [](const Buffers& s) {
    return tn::sin(tn::mean(tn::einsum("ta,tb->ab", s.ys, s.xs), {-1}) + s.c) + 0.1f;
  };
  return updated(xs, c0, next, write_row);
}

Array linspace(std::int64_t steps, std::int64_t features) {
  const double count = static_cast<double>(steps * features - 1);
  return tn::reshape(tn::convert(0.1 + tn::arange(steps * features, tn::DType::f64) * (0.9 / count), tn::DType::f32),
                     {steps, features});
}

// One way to run a variant, for more and more steps while another call would take neither long nor much memory, if both
// grew with the square. Rows: the time and the bytes at each number of steps, and the exponents.
template <class F>
void sweep(const std::string& name, const std::string& figure, std::int64_t features, F function) {
  std::vector<double> sizes, times, memory;
  for (const std::int64_t steps : {500, 1000, 2000, 4000, 8000, 16000, 32000, 64000}) {
    if (!times.empty() && (times.back() > 0.2 || memory.back() > 7e8)) break;
    const Array xs = linspace(steps, features), c0 = tn::full({features}, 0.5f);
    const auto call = [&] {
      auto result = function(xs, c0);
      bench::keep(result);
    };
    sizes.push_back(static_cast<double>(steps));
    memory.push_back(peak_bytes(call));
    times.push_back(bench::median_seconds(call));
    const std::string at = name + ", T" + std::to_string(steps);
    bench::emit(at, figure, times.back() * 1e3, "ms");
    bench::emit(at, figure + ", memory", memory.back(), "bytes");
  }
  bench::emit(name, figure + ", exponent of time", exponent(sizes, times), "exponent");
  bench::emit(name, figure + ", exponent of memory", exponent(sizes, memory, 1 << 18), "exponent");
}

void variants(const std::string& only) {
  const std::pair<std::string, Variant> all[] = {{"stacked", stacked},
                                                 {"update", update},
                                                 {"update, where", update_where},
                                                 {"update, twice", update_twice},
                                                 {"dot(ys, xs)", read_all}};
  for (const std::int64_t features : {64, 5})
    for (const auto& [which, f] : all) {
      if (!only.empty() && which != only) continue;
      const std::string name = "loop, " + which + ", f32[" + std::to_string(features) + "]";
      sweep(name, "forward", features, tn::jit(f));
      sweep(name, "value and gradient", features, tn::jit(tn::value_and_grad<0, 1>(f)));
      const auto tangent = tn::jit([f](const Array& xs, const Array& c0, const Array& dxs, const Array& dc0) {
        return tn::jvp(f, std::tuple(xs, c0), std::tuple(dxs, dc0));
      });
      sweep(name, "jvp", features, [&](const Array& xs, const Array& c0) { return tangent(xs, c0, xs, c0); });
    }
}

// ---- 200,000 element updates of a carry of 10^6: what an update costs beyond the arithmetic of its step.
struct Walk {
  Array value, buffer;
};
Walk walk(const Walk& start, bool writes) {
  return tn::fori_loop(
      0, 200000,
      [&](Array i, const Walk& w) {
        const Array at = 5 * i, next = 0.9f * w.value + 0.1f * w.buffer(at);
        return Walk{next, writes ? w.buffer.at(at).set(next) : w.buffer};
      },
      start);
}
void element_updates() {
  const std::string name = "200,000 element updates, carry of 10^6";
  double per_step[2];
  for (const bool writes : {false, true}) {
    const auto step = tn::jit([writes](const Walk& w) { return walk(w, writes); }, {.donate = {0}});
    Walk w{tn::zeros({}), tn::full({1000000}, 0.5f)};
    const auto call = [&] { w = step(w); };
    const double bytes = peak_bytes(call);
    if (writes) bench::emit(name, "memory beyond the carry", bytes, "bytes");
    per_step[writes] = bench::median_seconds(call) / 200000 * 1e9;
  }
  bench::emit(name, "a step", per_step[true], "ns/iter");
  bench::emit(name, "a step beyond its arithmetic", per_step[true] - per_step[false], "ns/iter");
}

// ---- A while that fills a buffer of 30,000, in lanes that end at different steps.
struct Filling {
  Array i, buffer;
};
void batched_while() {
  for (const std::int64_t lanes : {4, 64}) {
    const auto fill = [](const Array& steps, const Array& x) {
      return tn::while_loop([&](const Filling& f) { return f.i < steps; },
                            [&](const Filling& f) {
                              const Array value = tn::sin(x + tn::convert(f.i, tn::DType::f32));
                              return Filling{f.i + 1, f.buffer.at(f.i).set(value)};
                            },
                            Filling{Array(0), tn::zeros({30000})})
          .buffer;
    };
    const auto run = tn::jit(tn::vmap(fill));
    const Array steps = 30000 - 7 * (tn::arange(lanes) % 3), x = tn::arange(lanes, tn::DType::f32);
    const auto call = [&] {
      Array result = run(steps, x);
      bench::keep(result);
    };
    const std::string name = "while that fills 30,000, " + std::to_string(lanes) + " lanes";
    bench::emit(name, "peak memory", peak_bytes(call), "bytes");
    bench::emit(name, "forward", bench::median_seconds(call) * 1e3, "ms");
  }
}

}  // namespace

// usage: bench_loops [updates | lanes | a variant]
int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  if (only.empty() || only == "updates") element_updates();
  if (only.empty() || only == "lanes") batched_while();
  variants(only);
}
