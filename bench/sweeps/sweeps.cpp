// How costs grow: the time to trace, transform and compile by the number of eqns and by the depth of nesting; the time
// and memory of loops by their length. Prints tables in Markdown, each with the exponent p of cost ~ size^p, fitted to
// the upper half of the sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "bench/measure.h"
#include "tenon/compile/executable.h"
#include "tenon/ops/linear_algebra/contraction_order.h"
#include "tenon/rewrite/rules/rules.h"
#include "tenon/runtime/memory/allocator.h"
#include "tenon/tenon.h"
#include "tenon/transform/gradient.h"

namespace tn = tenon;
using tn::Array;

namespace {

// A table of sizes by costs, in the order in which they are measured.
class Sweep {
 public:
  Sweep(std::string title, std::string size, std::string unit)
      : title_(std::move(title)), size_(std::move(size)), unit_(std::move(unit)) {}

  void add(double size, const std::string& cost, double value) {
    if (std::ranges::find(sizes_, size) == sizes_.end()) sizes_.push_back(size);
    auto column = std::ranges::find(columns_, cost, &Column::name);
    if (column == columns_.end()) column = columns_.insert(columns_.end(), {cost, {}});
    column->values.push_back(value);
  }
  ~Sweep() {
    fmt::print("\n## {}, {}\n\n| {} |", title_, unit_, size_);
    for (const Column& c : columns_) fmt::print(" {} |", c.name);
    fmt::print("\n|---|");
    for (std::size_t k = 0; k < columns_.size(); ++k) fmt::print("---|");
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      fmt::print("\n| {} |", sizes_[i]);
      for (const Column& c : columns_) fmt::print(" {:.3g} |", c.values[i]);
    }
    fmt::print("\n| exponent |");
    for (const Column& c : columns_) fmt::print(" {:.2f} |", exponent(c.values));
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  struct Column {
    std::string name;
    std::vector<double> values;
  };
  // The slope of the logarithms by least squares.
  double exponent(const std::vector<double>& values) const {
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (std::size_t i = sizes_.size() / 2; i < sizes_.size(); ++i) {
      const double x = std::log(sizes_[i]), y = std::log(std::max(values[i], 1e-9));
      n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
  }

  std::string title_, size_, unit_;
  std::vector<double> sizes_;
  std::vector<Column> columns_;
};

template <class F>
double seconds(F&& f) {
  const double start = bench::now();
  f();
  return bench::now() - start;
}

using Function = std::function<Array(const Array& x)>;

// The least of a few measurements of each stage, in ms; of one where that takes long. Whether a larger size is
// bearable.
bool stages(Sweep& sweep, double size, const Function& f, const Array& x) {
  std::vector<std::pair<std::string, double>> least;
  const double start = bench::now();
  for (int repeat = 0; repeat < 3 && bench::now() - start < 1; ++repeat) {
    tn::clear_caches();
    std::size_t at = 0;
    const auto stage = [&](const std::string& name, auto&& work) {
      const double ms = seconds(work) * 1e3;
      if (repeat == 0) least.emplace_back(name, ms);
      least[at].second = std::min(least[at].second, ms);
      ++at;
    };
    tn::ProgramRef p, forward, reverse, lanes;
    const tn::Mask all{true};
    stage("trace", [&] { p = tn::trace(f)(x); });
    stage("jvp", [&] { forward = tn::jvp(p, all, all); });
    stage("vjp", [&] { reverse = tn::pullback(p, all, all); });
    stage("vmap", [&] { lanes = tn::vmap(p, all, all, 3); });
    stage("compile", [&] { tn::compile(p); });
    stage("compile vjp", [&] { tn::compile(reverse); });
  }
  for (const auto& [name, ms] : least) sweep.add(size, name, ms);
  return bench::now() - start < 3;
}

constexpr double factor = 0.51;

Array one_nest(const Array& x, int ops) {
  Array y = x;
  for (int i = 0; i < ops / 2; ++i) y = tn::sin(y + (factor + 0.01 * i));
  return y;
}
Array many_nests(const Array& x, int ops) {
  Array y = x;
  for (int i = 0; i < ops / 4; ++i) y = tn::sin(y * factor) - tn::sum(y);
  return y;
}
// Each step reads the one before at two indices.
Array turned(const Array& x, int ops) {
  Array y = x;
  for (int i = 0; i < ops / 2; ++i) y = y * factor + tn::reverse(y, {0});
  return y;
}
Array tree(const Array& x, int sines) {
  std::vector<Array> sums;
  for (int i = 0; i < sines; ++i) sums.push_back(tn::sin(x * (factor + 0.01 * i)));
  for (std::size_t width = 1; width < sums.size(); width *= 2)
    for (std::size_t i = 0; i + width < sums.size(); i += 2 * width) sums[i] = sums[i] + sums[i + width];
  return tn::sum(sums[0]);
}
Array called(const Array& x, int calls) {
  const auto f = tn::jit([](Array y) {
    for (int i = 0; i < 20; ++i) y = tn::sin(y) * factor;
    return y;
  });
  Array y = x;
  for (int i = 0; i < calls; ++i) y = f(y);
  return y;
}
Array nested(const Array& x, int depth) {
  const auto step = [&](const Array& c) { return depth > 1 ? nested(c * 0.5f, depth - 1) : tn::sin(c + factor); };
  return tn::fori_loop(0, 3, [&](const Array&, const Array& c) { return step(c); }, x);
}

// Mean squares of what scans stack, each of which moves into its scan.
Array reduced_scans(const Array& x, int scans) {
  Array sum = tn::zeros({}, x.dtype());
  for (int i = 0; i < scans; ++i) {
    const auto step = [&](const Array& c, const Array& x) {
      const Array next = tn::sin(c + x) * (factor + 0.01 * i);
      return std::pair(next, next);
    };
    sum = sum + tn::mean(tn::square(tn::scan(step, x(0) * 0.0f, x).second));
  }
  return sum;
}

void programs() {
  const Array x = tn::full({1000}, 0.3f);
  {
    Sweep sweep("A chain of elementwise ops, one nest", "ops", "ms");
    for (int n : {16, 64, 256, 512, 1024, 2048})
      if (!stages(sweep, n, [n](const Array& v) { return one_nest(v, n); }, x)) break;
  }
  {
    Sweep sweep("Sums between elementwise ops, many nests", "ops", "ms");
    for (int n : {16, 64, 256, 512, 1024, 2048})
      if (!stages(sweep, n, [n](const Array& v) { return many_nests(v, n); }, x)) break;
  }
  {
    Sweep sweep("Steps that read the one before at two indices", "ops", "ms");
    for (int n : {16, 64, 256, 512, 1024, 2048})
      if (!stages(sweep, n, [n](const Array& v) { return turned(v, n); }, x)) break;
  }
  {
    Sweep sweep("A sum of sines, as a tree", "sines", "ms");
    for (int n : {16, 64, 256, 512, 1024})
      if (!stages(sweep, n, [n](const Array& v) { return tree(v, n); }, x)) break;
  }
  {
    Sweep sweep("Calls of one function of 40 eqns", "calls", "ms");
    for (int n : {10, 100, 1000})
      if (!stages(sweep, n, [n](const Array& v) { return called(v, n); }, x)) break;
  }
  {
    Sweep sweep("Scans whose outputs are reduced", "scans", "ms");
    for (int n : {4, 16, 64, 256})
      if (!stages(sweep, n, [n](const Array& v) { return reduced_scans(v, n); }, x)) break;
  }
  {
    Sweep sweep("Loops in loops", "depth", "ms");
    for (int n : {1, 2, 3, 4, 6, 8})
      if (!stages(sweep, n, [n](const Array& v) { return nested(v, n); }, x)) break;
  }
}

Array scanned(const Array& x, int length) {
  return tn::sum(tn::scan(
                     [](const Array& c, std::tuple<>) {
                       const Array next = tn::sin(c * 1.1f);
                       return std::pair(next, std::tuple<>());
                     },
                     x, std::tuple<>(), {.length = length})
                     .first);
}
Array until(const Array& x, const Array& length) {
  return tn::sum(std::get<0>(tn::while_loop(
      [&](const std::tuple<Array, Array>& s) { return std::get<1>(s) < length; },
      [](const std::tuple<Array, Array>& s) { return std::tuple(tn::sin(std::get<0>(s) * 1.1f), std::get<1>(s) + 1); },
      std::tuple(x, Array(0)))));
}

// What a scan over so many rows stacks, of which only reductions are wanted.
Array waves_of(const Array& x, int length) {
  const auto step = [](const Array& c, std::tuple<>) {
    const Array next = tn::sin(c * 1.1f);
    return std::pair(next, next);
  };
  return tn::scan(step, x, std::tuple<>(), {.length = length}).second;
}

// "memory: at most 1,024 bytes" of what explain tells.
double most_bytes(const std::string& told) {
  const std::string_view mark = "memory: at most ";
  std::string digits;
  for (std::size_t at = told.find(mark) + mark.size(); told[at] != ' '; ++at)
    if (told[at] != ',') digits += told[at];
  return std::stod(digits);
}

// Run times, and the bytes that a call needs at most.
void lengths() {
  Sweep times("Loops over f32[64], run", "steps", "µs"), memory("Loops over f32[64], memory", "steps", "bytes");
  const Array x = tn::full({64}, 0.3f);
  for (int n : {100, 1000, 10000, 100000}) {
    const auto measure = [&](const std::string& name, auto f, const auto&... args) {
      memory.add(n, name, most_bytes(tn::explain(f)(args...)));
      times.add(n, name, bench::median_seconds([&] { f(args...); }) * 1e6);
    };
    const auto scan = [n](const Array& v) { return scanned(v, n); };
    measure("scan", tn::jit(scan), x);
    measure("its gradient", tn::jit(tn::grad(scan)), x);
    measure("with steps computed again", tn::jit(tn::grad(tn::checkpoint(scan))), x);
    measure("mean square of stacked outputs",
            tn::jit([n](const Array& v) { return tn::mean(tn::square(waves_of(v, n))); }), x);
    measure("logsumexp over the steps",
            tn::jit([n](const Array& v) { return tn::sum(tn::logsumexp(waves_of(v, n), 0)); }), x);
    measure("variance over the steps", tn::jit([n](const Array& v) { return tn::sum(tn::var(waves_of(v, n), 0)); }), x);
    const Array length(n);
    measure("while", tn::jit(until), x, length);
    const auto gradient = tn::jit(tn::grad(until));  // keeps lists, which explain does not count
    times.add(n, "gradient of while", bench::median_seconds([&] { gradient(x, length); }) * 1e6);
  }
}

// Loops one behind the other, which become one: time to compile, and to run 100 steps of f32[64].
void fused() {
  Sweep sweep("Filters one behind the other, a scan each", "filters", "ms");
  const auto of = [](int count) {
    return [count](const Array& xs) {
      const auto filter = [](const Array& c, const Array& x) {
        const Array next = c * 0.5f + x;
        return std::pair(next, next);
      };
      Array all = xs;
      for (int i = 0; i < count; ++i) all = tn::scan(filter, tn::zeros({64}), all).second;
      return all;
    };
  };
  const Array xs = tn::reshape(tn::sin(tn::arange(6400) * 0.7f), {100, 64});
  for (int n : {1, 3, 10, 30, 100, 300}) {
    const auto f = tn::jit(of(n));
    sweep.add(n, "compile", seconds([&] { f(xs); }) * 1e3);
    sweep.add(n, "run", bench::median_seconds(f, xs) * 1e3);
  }
}

// Carries of one loop, every second of which equals the one before: time to compile it. And numbers that its steps
// carry beside one array, which every block of its rows computes: time to run 100 steps of f32[64,64].
void carried() {
  using Carries = std::vector<Array>;
  Sweep sweep("Carries of a loop", "carries", "ms");
  for (int n : {2, 8, 32, 128, 512}) {
    const auto equal = tn::jit([n](const Array& x) {
      const auto step = [](const Carries& c, std::tuple<>) {
        Carries next;
        for (std::size_t k = 0; k < c.size(); ++k)
          next.push_back(c[k] * (1 + static_cast<double>(k / 2) / 1024) + c[(k + 2) % c.size()]);
        return std::pair(next, std::tuple<>());
      };
      const Carries first(static_cast<std::size_t>(n), x);
      return tn::scan(step, first, std::tuple<>(), {.length = 10}).first;
    });
    sweep.add(n, "compile, half of them equal", seconds([&] { equal(tn::full({64}, 0.3f)); }) * 1e3);
    const auto beside = tn::jit([n](const Array& x) {
      const auto step = [](const Carries& c, std::tuple<>) {
        Carries next{tn::sin(c[0] * 0.7f + c[1])};
        for (std::size_t k = 1; k < c.size(); ++k) next.push_back(c[k] * 0.9f + 0.1f);
        return std::pair(next, std::tuple<>());
      };
      Carries first{x};
      for (int k = 1; k < n; ++k) first.emplace_back(1.0f / static_cast<float>(k));
      return tn::scan(step, first, std::tuple<>(), {.length = 100}).first;
    });
    const Array x = tn::full({64, 64}, 0.3f);
    sweep.add(n, "compile, numbers", seconds([&] { beside(x); }) * 1e3);
    sweep.add(n, "run, numbers", bench::median_seconds(beside, x) * 1e3);
  }
}

// The k largest of what pairs of rows give, k values and k places of each row.
void largest() {
  Sweep sweep("The k nearest of 2,000 to each of 1,000 points of 3 coordinates, run", "k", "ms");
  const Array x = tn::random::normal(tn::random::key(1), {1000, 3}),
              y = tn::random::normal(tn::random::key(2), {2000, 3});
  for (int k : {1, 2, 4, 8, 16}) {
    const auto f = tn::jit([k](const Array& x, const Array& y) {
      const Array d = tn::sum(tn::square(tn::expand_dims(x, 1) - y), 2);
      return tn::top_k(-d, k);
    });
    f(x, y);
    sweep.add(k, "top_k", bench::median_seconds(f, x, y) * 1e3);
  }
}

// Cumulative sums, whose steps are divided among the threads where they are many; of a row, and down columns.
void cumulative() {
  Sweep sweep("Cumulative sums of f32[n], run", "elements", "µs");
  for (int n : {1000, 10000, 100000, 1000000, 10000000}) {
    const Array x = tn::sin(tn::arange(n) * 0.7f), columns = tn::reshape(x, {n / 100, 100});
    const auto measure = [&](const std::string& name, auto f, const Array& of) {
      sweep.add(n, name, bench::median_seconds([&] { f(of); }) * 1e6);
    };
    measure("of a row", tn::jit([](const Array& x) { return tn::cumsum(x); }), x);
    measure("in order", tn::jit([](const Array& x) { return tn::cumsum(x); }, {.numerics = tn::Numerics::strict}), x);
    measure("its gradient", tn::jit(tn::grad([](const Array& x) { return tn::sum(tn::square(tn::cumsum(x))); })), x);
    measure("down 100 columns", tn::jit([](const Array& x) { return tn::cumsum(x, 0); }), columns);
  }
}

// A carry that keeps about half of its elements in each step, until one is left: two copies a step, and the reductions.
// Of one head: the time, and the memory beside operands and results, of code for one length and for any.
void attention() {
  const auto of = [](const Array& q, const Array& k, const Array& v) {
    return tn::matmul(tn::softmax(tn::matmul(q, tn::transpose(k)) * 0.125F), v);
  };
  const auto squares = [=](const Array& q, const Array& k, const Array& v) { return tn::sum(tn::square(of(q, k, v))); };
  Sweep times("attention of one head, 64 features", "keys and queries", "ms"),
      memory("attention of one head, memory", "keys and queries", "MB");
  const auto measure = [&](const std::string& name, auto f) {
    for (double n = 1024; n <= 16384; n *= 2) {
      const Array x = tn::random::normal(tn::random::key(1), {static_cast<std::int64_t>(n), 64});
      f(x, x, x);
      tn::reset_peak_memory();
      const std::size_t before = tn::memory_statistics().live_bytes;
      {
        auto result = f(x, x, x);
        bench::keep(result);
      }
      memory.add(n, name, static_cast<double>(tn::memory_statistics().peak_bytes - before) * 1e-6);
      times.add(n, name, bench::median_seconds(f, x, x, x) * 1e3);
    }
  };
  measure("forward", tn::jit(of, {.sizes = tn::Sizes::fixed}));
  measure("gradient", tn::jit(tn::grad<0, 1, 2>(squares), {.sizes = tn::Sizes::fixed}));
  const tn::JitOptions any{.named_sizes = {{0, {"T", ""}}, {1, {"T", ""}}, {2, {"T", ""}}}};
  measure("forward, any length", tn::jit(of, any));
  measure("gradient, any length", tn::jit(tn::grad<0, 1, 2>(squares), any));
}

void varying() {
  Sweep sweep("A carry that halves in each step", "elements", "µs");
  for (int n : {1000, 10000, 100000, 1000000}) {
    const auto halved = tn::jit([](const Array& x) {
      return tn::while_loop([](const Array& c) { return tn::size_as_array(c.shape()[0]) > 1; },
                            [](const Array& c) { return tn::compress(c, c >= tn::mean(c)); }, x);
    });
    const Array x = tn::sin(tn::arange(n, tn::DType::f64) * 0.7);
    sweep.add(n, "run", bench::median_seconds([&] { halved(x); }) * 1e6);
  }
}

// The gradient of 100 rows of a table, densely and as rows, by the rows of the table; what a step of descent costs.
void tables() {
  Sweep times("The gradient of 100 rows of f32[n, 64]", "n", "µs"), memory("The same, memory", "n", "bytes");
  const auto loss = [](const Array& table, const Array& ids) { return tn::sum(tn::sin(table(ids))); };
  for (int n : {1000, 10000, 100000, 1000000}) {
    const Array ids = tn::arange(100) * (n / 100);
    Array table = tn::full({n, 64}, 0.3f);
    const auto measure = [&](const std::string& name, auto f, const auto&... args) {
      memory.add(n, name, most_bytes(tn::explain(f)(args...)));
      times.add(n, name, bench::median_seconds([&] { f(args...); }) * 1e6);
    };
    measure("dense", tn::jit(tn::grad(loss)), table, ids);
    measure("as rows", tn::jit(tn::grad(loss, tn::sparse<>)), table, ids);
    const auto step = tn::jit(
        [&](const Array& t, const Array& i) {
          const tn::Rows rows = tn::grad(loss, tn::sparse<>)(t, i);
          return t.at(rows.indices).add(-0.1f * rows.values);
        },
        {.donate = {0}, .strict_in_place = true});
    times.add(n, "a step of descent", bench::median_seconds([&] { table = step(table, ids); }) * 1e6);
  }
}

// The gradient of steps of points that all attract each other, and of a map over rows of all pairs.
void pairs_of_steps() {
  Sweep times("Loops over all pairs of n points, the gradient's run", "n", "ms");
  Sweep memory("The same, memory", "n", "bytes");
  for (int n : {200, 400, 800, 1600}) {
    const auto measure = [&](const std::string& name, auto f, const auto&... args) {
      memory.add(n, name, most_bytes(tn::explain(f)(args...)));
      times.add(n, name, bench::median_seconds([&] { f(args...); }) * 1e3);
    };
    const auto attract = [](const Array&, const Array& at) {
      const Array away = tn::expand_dims(at, 0) - tn::expand_dims(at, 1), far = tn::sum(away * away, 2) + 0.1f;
      return at + 1e-4f * tn::sum(away * tn::expand_dims(tn::rsqrt(far) / far, 2), 1);
    };
    const auto bodies = [=](const Array& at) { return tn::sum(tn::square(tn::fori_loop(0, 20, attract, at))); };
    const auto rows = [](const Array& x, const Array& y) {
      const auto row = [&](const Array& at) { return tn::sum(tn::exp(-tn::sum(tn::square(at - y), 1))); };
      return tn::sum(tn::square(tn::map(row, x)));
    };
    const Array x = tn::random::normal(tn::random::key(1), {n, 3}), y = tn::random::normal(tn::random::key(2), {n, 3});
    measure("20 steps of n bodies", tn::jit(tn::grad(bodies)), x);
    measure("a map over n rows", tn::jit(tn::grad<0, 1>(rows)), x, y);
  }
}

// The gradient of a scan with xs and ys by its checkpoints.
void checkpoints() {
  Sweep times("The gradient of a scan over f32[n, 64], run", "steps", "ns a step");
  for (int n : {500, 1000, 2000, 4000, 8000, 16000}) {
    const auto measure = [&](const std::string& name, std::optional<tn::Checkpoints> kept) {
      const auto loss = [=](const Array& h, const Array& xs) {
        const auto body = [](const Array& c, const Array& x) {
          const Array next = tn::sin(c) * 0.9f + x;
          return std::pair(next, next * x);
        };
        const auto [end, ys] = tn::scan(body, h, xs, {.checkpoint = kept});
        return tn::sum(end) + tn::sum(ys * ys);
      };
      const auto f = tn::jit(tn::grad<0, 1>(loss));
      const Array h = tn::full({64}, 0.3f), xs = tn::full({n, 64}, 0.1f);
      times.add(n, name, bench::median_seconds([&] { f(h, xs); }) * 1e9 / n);
    };
    measure("all recorded", std::nullopt);
    measure("every(√n)", tn::every(static_cast<int>(std::sqrt(n))));
    measure("binomial(32)", tn::binomial(32));
  }
}

// Pushes in a while, and what stands in the list afterwards: read, backwards, or stacked; with gradients.
tn::List<Array> pushed(const Array& x, const Array& length) {
  return std::get<1>(tn::while_loop([&](const auto& c) { return std::get<2>(c) < length; },
                                    [](const auto& c) {
                                      auto [s, list, i] = c;
                                      list.push(s);
                                      return std::tuple(tn::sin(s * 1.1f), list, i + 1);
                                    },
                                    std::tuple(x, tn::List<Array>(), Array(0))));
}
void lists() {
  Sweep times("Lists of f32[8], run", "elements", "µs");
  const Array x = tn::full({8}, 0.3f);
  for (int n : {100, 1000, 10000, 100000}) {
    const Array length(n);
    const auto measure = [&](const std::string& name, auto f) {
      times.add(n, name, bench::median_seconds([&] { f(x, length); }) * 1e6);
    };
    const auto read = [](Array v, Array length) {
      const tn::List<Array> list = pushed(v, length);
      return tn::sum(tn::fori_loop(0, length, [&](Array i, Array sum) { return sum * 0.5f + list.at(-1 - i); }, v));
    };
    const auto stacked = [](Array v, Array length) { return tn::sum(tn::square(pushed(v, length).stack())); };
    const auto of_n = [n](Array v, Array length) { return tn::sum(tn::square(pushed(v, length).stack(tn::Dim(n)))); };
    measure("push and read", tn::jit(read));
    measure("its gradient", tn::jit(tn::grad(read)));
    measure("push and stack(n)", tn::jit(of_n));
    measure("gradient of that", tn::jit(tn::grad(of_n)));
    measure("push and stack()", tn::jit(stacked));
    measure("gradient of this", tn::jit(tn::grad(stacked)));
    measure("push outside of traces", [n](const Array& v, const Array&) {
      tn::List<Array> list;
      for (int i = 0; i < n; ++i) list.push(v);
    });
  }
}

}  // namespace

// Where rules apply at every third eqn, and where none does, beside what compiling the rest costs.
void rewriting() {
  const auto program_of = [](int eqns, bool applies) {
    tn::Scope scope;
    Array y = scope.input(tn::Type::array(tn::DType::f32, {tn::Dim(8)}));
    for (int i = 0; i < eqns / 3; ++i) {
      const Array z = tn::sin(y * (0.5f + 1e-3f * static_cast<float>(i)));
      y = applies ? -(-z) * 1.0f : tn::tanh(z) * z;
    }
    return scope.finish(tn::Arrays{y}).program;
  };
  Sweep sweep("Rules of the library", "eqns", "ms");
  for (int n : {1'000, 3'000, 10'000, 30'000, 100'000})
    for (const bool applies : {true, false}) {
      const tn::ProgramRef p = program_of(n, applies);
      const tn::RuleSet& rules = tn::default_rules();
      double least = 1e9;
      for (int repeat = 0; repeat < 3; ++repeat)
        least = std::min(least, seconds([&] { tn::rewrite(p, rules, tn::Phase::after_differentiation); }));
      sweep.add(n, applies ? "every third eqn" : "none", least * 1e3);
      if (n > 3'000) continue;
      const double whole = seconds([&] { tn::compile(p); });
      fmt::print("{} eqns, {}: rules are {:.1f} % of compiling\n", n, applies ? "every third" : "none",
                 100 * least / whole);
    }
}

// The order of the products of an einsum: of 12 operands and fewer the best one there is, of more one found on the way.
void orders() {
  const auto network = [](std::size_t operands) {
    tn::Contraction made{{}, 0, std::vector<double>(50, 8)};
    std::uint64_t drawn = 1;
    const auto letter = [&] {
      return std::uint64_t(1) << (drawn = drawn * 6364136223846793005U + 1, (drawn >> 33) % 50);
    };
    for (std::size_t i = 0; i < operands; ++i) made.operands.push_back(letter() | letter() | letter());
    return made;
  };
  Sweep few("Order of the products of an einsum", "operands", "ms"),
      many("The same of more operands", "operands", "ms");
  for (int n : {3, 4, 6, 8, 10, 12}) few.add(n, "order", 1e3 * seconds([&] { tn::contraction_order(network(n)); }));
  for (int n : {24, 96, 384, 1'536, 6'144})
    many.add(n, "order", 1e3 * seconds([&] { tn::contraction_order(network(n)); }));
}

int main(int argc, char** argv) {
  ::setenv("TENON_CACHE", "off", 1);  // what is timed is compiled anew
  const auto wanted = [&](std::string_view name) { return argc < 2 || name == argv[1]; };
  if (wanted("programs")) programs();
  if (wanted("lengths")) lengths();
  if (wanted("fused")) fused();
  if (wanted("carried")) carried();
  if (wanted("largest")) largest();
  if (wanted("cumulative")) cumulative();
  if (wanted("attention")) attention();
  if (wanted("varying")) varying();
  if (wanted("tables")) tables();
  if (wanted("pairs")) pairs_of_steps();
  if (wanted("checkpoints")) checkpoints();
  if (wanted("lists")) lists();
  if (wanted("rewriting")) rewriting();
  if (wanted("orders")) orders();
}
