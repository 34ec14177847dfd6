// Arrays whose size the data decide, beside plain C++ loops that do the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

// Numbers from 0 to 6 that no branch predictor foresees: half of them are above 3.
std::vector<float> numbers(std::int64_t n, std::uint32_t seed) {
  std::vector<float> all(static_cast<std::size_t>(n));
  for (float& x : all) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) * (6.0f / 16777216.0f);
  }
  return all;
}

Array as_array(const std::vector<float>& values, const tn::Shape& shape) {
  tn::Buffer b = tn::Buffer::allocate(tn::DType::f32, shape.sizes());
  std::memcpy(b.data(), values.data(), b.bytes());
  return Array(b);
}

// As a user's own program would be compiled for this machine.
#define LOOP __attribute__((noinline, optimize("O3"), target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))

template <class F>
void measure(const std::string& which, const std::string& figure, F f) {
  bench::emit(which, figure, bench::median_seconds(f), "s");
}

LOOP float sum_above(const float* x, std::int64_t n, float level) {
  float sums[16] = {};  // so that the compiler may use vectors
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; ++k) sums[k] += x[i + k] > level ? x[i + k] : 0.0f;
  float sum = 0;
  for (; i < n; ++i) sum += x[i] > level ? x[i] : 0.0f;
  for (const float s : sums) sum += s;
  return sum;
}

LOOP float squares_above(const float* x, std::int64_t n, float level) {
  float sums[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; ++k) sums[k] += x[i + k] > level ? x[i + k] * x[i + k] : 0.0f;
  float sum = 0;
  for (; i < n; ++i) sum += x[i] > level ? x[i] * x[i] : 0.0f;
  for (const float s : sums) sum += s;
  return sum;
}
LOOP void slopes_above(const float* x, std::int64_t n, float level, float* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = x[i] > level ? 2 * x[i] : 0.0f;
}
LOOP std::size_t choose(const float* x, std::int64_t n, float level, float* to) {
  std::size_t k = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    to[k] = x[i];
    k += x[i] > level ? 1 : 0;
  }
  return k;
}
LOOP std::size_t choose_places(const float* x, std::int64_t n, float level, std::int32_t* to) {
  std::size_t k = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    to[k] = static_cast<std::int32_t>(i);
    k += x[i] > level ? 1 : 0;
  }
  return k;
}

void sums(std::int64_t n) {
  const std::vector<float> x = numbers(n, 1);
  const Array in = as_array(x, {n});
  const std::string which = fmt::format("sum(x[x > 3]), f32[{}]", n);
  const auto f = tn::jit([](Array x) { return tn::sum(tn::compress(x, x > 3.0f)); });
  measure(which, "forward", [&] { f(in); });
  const auto slope =
      tn::jit(tn::value_and_grad([](Array x) { return tn::sum(tn::square(tn::compress(x, x > 3.0f))); }));
  measure(which, "value and gradient of the squares", [&] { slope(in); });
  measure(which, "loop", [&] {
    float sum = sum_above(x.data(), n, 3.0f);
    bench::keep(sum);
  });
  measure(which, "loop of the gradient", [&] {
    std::vector<float> g(x.size());
    float sum = squares_above(x.data(), n, 3.0f);
    slopes_above(x.data(), n, 3.0f, g.data());
    bench::keep(sum), bench::keep(g);
  });
}

void products(std::int64_t n) {
  const std::vector<float> x = numbers(n, 2);
  const Array in = as_array(x, {n});
  const std::string which = fmt::format("x[m] @ x[m], f32[{}]", n);
  const auto f = tn::jit([](Array x) {
    const Array some = tn::compress(x, x > 3.0f);
    return tn::matmul(some, some);
  });
  measure(which, "forward", [&] { f(in); });
  measure(which, "loop", [&] {
    float sum = squares_above(x.data(), n, 3.0f);
    bench::keep(sum);
  });
}

void chosen(std::int64_t n) {
  const std::vector<float> x = numbers(n, 3);
  const Array in = as_array(x, {n});
  const std::string which = fmt::format("x[x > 3], f32[{}]", n);
  const auto f = tn::jit([](Array x) { return tn::compress(x, x > 3.0f); });
  measure(which, "forward", [&] { f(in); });
  measure(which, "loop", [&] {
    std::vector<float> out(x.size());
    const std::size_t k = choose(x.data(), n, 3.0f, out.data());
    out.resize(k);
    bench::keep(out);
  });
}

void places(std::int64_t n) {
  const std::vector<float> x = numbers(n, 4);
  const Array in = as_array(x, {n});
  const std::string which = fmt::format("nonzero(x > 3), f32[{}]", n);
  const auto f = tn::jit([](Array x) { return tn::nonzero(x > 3.0f)[0]; });
  measure(which, "forward", [&] { f(in); });
  measure(which, "loop", [&] {
    std::vector<std::int32_t> out(x.size());
    const std::size_t k = choose_places(x.data(), n, 3.0f, out.data());
    out.resize(k);
    bench::keep(out);
  });
}

// A mask of each step's own.
void steps(std::int64_t n) {
  constexpr std::int64_t count = 100;
  const std::vector<float> x = numbers(count * n, 5);
  const Array in = as_array(x, {count, n});
  const std::string which = fmt::format("scan of sum(x[x > c]), {} steps, f32[{}]", count, n);
  const auto f = tn::jit([](Array x) {
    const auto step = [](Array c, Array x) {
      const Array sum = tn::sum(tn::compress(x, x > c));
      return std::pair(c * 0.5f + sum * 1e-4f, sum);
    };
    return tn::scan(step, Array(1.0f), x);
  });
  measure(which, "forward", [&] { f(in); });
  measure(which, "loop", [&] {
    float c = 1.0f;
    std::vector<float> all(count);
    for (std::int64_t t = 0; t < count; ++t) {
      all[t] = sum_above(x.data() + t * n, n, c);
      c = c * 0.5f + all[t] * 1e-4f;
    }
    bench::keep(c), bench::keep(all);
  });
}

// A list that collects what a condition lets through, one by one; then its elements as an array.
void collected(std::int64_t n) {
  const std::vector<float> x = numbers(n, 8);
  const Array in = as_array(x, {n});
  const std::string which = fmt::format("a list of what is above 3, then its sum, f32[{}]", n);
  const auto f = tn::jit([n](Array x) {
    const auto step = [&](Array i, tn::List<Array> list) {
      const Array one = tn::take(x, i);
      return tn::cond(
          one > 3.0f,
          [](tn::List<Array> list, Array one) {
            list.push(one);
            return list;
          },
          [](tn::List<Array> list, Array) { return list; }, list, one);
    };
    const Array above = tn::fori_loop(0, n, step, tn::List<Array>::like(Array(0.0f))).stack();
    return std::pair(above, tn::sum(above));
  });
  measure(which, "forward", [&] { f(in); });
  measure(which, "loop", [&] {
    std::vector<float> above;
    for (const float one : x)
      if (one > 3.0f) above.push_back(one);
    float sum = 0;
    for (const float one : above) sum += one;
    bench::keep(above), bench::keep(sum);
  });
}

// The elements that differ, in order, and rows of a table that they choose.
void differing(std::int64_t n) {
  std::vector<float> drawn = numbers(n, 6);
  std::vector<std::int32_t> x(drawn.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(drawn[i] * static_cast<float>(n) / 12.0f);
  const std::vector<float> table = numbers(n, 7);
  tn::Buffer b = tn::Buffer::allocate(tn::DType::i32, {n});
  std::memcpy(b.data(), x.data(), b.bytes());
  const Array in(b), of = as_array(table, {n});
  const std::string which = fmt::format("unique, then gather, i32[{}]", n);
  const auto f = tn::jit([n](Array x, Array table) {
    const Array sorted = tn::sort(x);
    const Array before = tn::concatenate({tn::full({1}, -1), sorted(tn::slice(0, n - 1))}, 0);
    const Array unique = tn::compress(sorted, sorted != before);
    return std::pair(unique, tn::take(table, unique));
  });
  measure(which, "forward", [&] { f(in, of); });
  measure(which, "loop", [&] {
    std::vector<std::int32_t> sorted = x;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::vector<float> taken(sorted.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) taken[i] = table[static_cast<std::size_t>(sorted[i])];
    bench::keep(sorted), bench::keep(taken);
  });
}

}  // namespace

int main() {
  for (const std::int64_t n : {1'000, 1'000'000}) sums(n), products(n), chosen(n), places(n), differing(n);
  steps(1'000);
  collected(100'000);
  return 0;
}
