// How long programs compile as they grow: an inner function that is called N times, from one function and from ten;
// trees, shared values, captured arrays, scalars, loops with long bodies; chains. The programs of
// bench/python/compiling.py, in C++. Without arguments all, else those whose name contains the argument.
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <functional>
#include <vector>

#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

using Function = std::function<Array(const Array& x)>;

struct Spent {
  double wall = 0, processors = 0;  // ms
};
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}
template <class F>
Spent spent(F&& work) {
  const double begin = bench::now(), processors = processor_seconds();
  work();
  return {(bench::now() - begin) * 1e3, (processor_seconds() - processors) * 1e3};
}

// The first call of the function, or of its gradient, less what the second call takes: a thousand calls of an inner
// function compute for as long as they compile.
Spent compiling(const Function& f, const Array& x, bool gradient) {
  const auto loss = [&f](const Array& v) { return tn::sum(tn::square(f(v))); };
  const auto less = [&](const auto& jitted) {
    const Spent first = spent([&] { jitted(x); }), second = spent([&] { jitted(x); });
    return Spent{first.wall - second.wall, first.processors - second.processors};
  };
  return gradient ? less(tn::jit(tn::grad(loss))) : less(tn::jit(f));
}
Spent least_compiling(const Function& f, const Array& x, bool gradient) {
  Spent least;
  const double begin = bench::now();
  for (int repeat = 0; repeat < 5 && (repeat < 2 || bench::now() - begin < 2); ++repeat) {
    tn::clear_caches();
    const Spent once = compiling(f, x, gradient);
    least = repeat == 0 ? once : Spent{std::min(least.wall, once.wall), std::min(least.processors, once.processors)};
  }
  return least;
}

double exponent(const std::vector<int>& sizes, const std::vector<double>& times) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = sizes.size() / 2 - (sizes.size() > 2 ? 0 : 1); i < sizes.size(); ++i) {
    const double x = std::log(sizes[i]), y = std::log(times[i]);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

struct Program {
  const char* name;
  std::function<Array(const Array& x, int n)> of;
  std::vector<int> sizes;
  Array x;
};

void grow(const Program& program) {
  for (const bool gradient : {false, true}) {
    const std::string figure = gradient ? "gradient" : "forward";
    std::vector<double> times;
    for (const int n : program.sizes) {
      const auto of_n = [&](const Array& v) { return program.of(v, n); };
      const Spent of = least_compiling(of_n, program.x, gradient);
      bench::emit(program.name, fmt::format("{}, n = {}", figure, n), of.wall, "ms");
      bench::emit(program.name, fmt::format("{}, n = {}, processors", figure, n), of.processors, "ms");
      times.push_back(of.processors);
    }
    bench::emit(program.name, figure + ", exponent", exponent(program.sizes, times), "exponent");
  }
}

Array ramp(const tn::Shape& shape, float by = 1) {
  const std::int64_t n = shape.elements().value();
  return tn::reshape((tn::arange(n) * (2.f / static_cast<float>(n)) - 1.f) * by, shape);
}

constexpr float s = 0.51f;  // by which programs scale

// --- an inner function ---
Array twenty(Array x) {
  for (int i = 0; i < 10; ++i) x = tn::tanh(x * s + static_cast<float>(i));
  return tn::sum(x);
}
Array ten_products(Array x) {
  for (int i = 0; i < 10; ++i) x = tn::sin(tn::matmul(x, x)) * s + x;
  return x;
}
Array hundred(Array x) {
  for (int i = 0; i < 50; ++i) x = tn::sin(x * s + 0.01f * static_cast<float>(i));
  return x;
}
struct Inner {
  const char* name;
  Array (*of)(Array);
  Array x;
  bool sums;
};
// What calls it n times, and differs from others in an op.
Array outer(const Inner& inner, const Array& x, int n, std::size_t number) {
  constexpr std::array<Array (*)(const Array&), 10> others{
      [](const Array& y) { return tn::cos(y); },    [](const Array& y) { return tn::sin(y); },
      [](const Array& y) { return tn::tanh(y); },   [](const Array& y) { return tn::atan(y); },
      [](const Array& y) { return tn::erf(y); },    [](const Array& y) { return tn::abs(y); },
      [](const Array& y) { return y * y; },         [](const Array& y) { return tn::exp(-y); },
      [](const Array& y) { return y / (y + 3.f); }, [](const Array& y) { return tn::log1p(y * y); }};
  const auto f = tn::jit([&inner](Array v) { return inner.of(v); });
  if (inner.sums) {
    Array total = 0.f;
    for (int i = 0; i < n; ++i) total = total + others[number](f(x + static_cast<float>(i)));
    return total;
  }
  Array y = x;
  for (int i = 0; i < n; ++i) y = others[number](f(y));
  return y;
}
void calls(const Inner& inner) {
  for (const bool gradient : {false, true}) {
    const std::string which = fmt::format("{}, {}", inner.name, gradient ? "gradient" : "forward");
    for (const int n : {10, 100, 1000}) {
      Spent first, second, ten;
      const double begin = bench::now();
      for (int repeat = 0; repeat < 5 && (repeat < 2 || bench::now() - begin < 2); ++repeat) {
        tn::clear_caches();
        const auto of = [&](std::size_t number) {
          return compiling([&](const Array& v) { return outer(inner, v, n, number); }, inner.x, gradient);
        };
        const auto less = [&](Spent& least, const Spent& now) {
          least = repeat == 0 ? now : Spent{std::min(least.wall, now.wall), std::min(least.processors, now.processors)};
        };
        Spent all = of(0);
        less(first, all);
        for (std::size_t number = 1; number < 10; ++number) {
          const Spent next = of(number);
          if (number == 1) less(second, next);
          all.wall += next.wall, all.processors += next.processors;
        }
        less(ten, all);
      }
      const auto told = [&](const char* what, const Spent& time) {
        const std::string figure = fmt::format("{} calls{}", n, what);
        bench::emit(which, figure, time.wall, "ms");
        bench::emit(which, figure + ", processors", time.processors, "ms");
      };
      told("", first), told(" from a second function", second), told(" from ten functions each", ten);
      constexpr double of_call = 5e-3;  // ms
      bench::emit(which, fmt::format("{} calls, less 5 us a call", n), first.wall - of_call * n, "ms");
    }
  }
}

// --- programs that grow ---
Array tree(const Array& x, int n) {
  std::vector<Array> terms;
  for (int i = 0; i < n; ++i) terms.push_back(tn::sin(x * (s + static_cast<float>(i) / static_cast<float>(n))));
  while (terms.size() > 1) {
    std::vector<Array> sums;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2) sums.push_back(terms[i] + terms[i + 1]);
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms[0];
}
Array shared(const Array& x, int n) {
  Array a = x, b = x * s;
  for (int i = 0; i < n; ++i) {
    const Array next = tn::sin(a + b) * 0.5f;
    b = a * b * 0.3f;
    a = next;
  }
  return a + b;
}
// Arrays that are there before anything is traced.
const std::vector<Array>& held() {
  static const std::vector<Array> arrays = [] {
    std::vector<Array> all;
    for (int i = 0; i < 2000; ++i) all.push_back(ramp({16}) * (static_cast<float>(i) * 0.001f));
    return all;
  }();
  return arrays;
}
Array captured(const Array& x, int n) {
  Array y = x * s;
  for (int i = 0; i < n; ++i) y = y * 0.999f + held()[static_cast<std::size_t>(i)];
  return y;
}
Array eight_scalars(const Array& x, int n) {
  std::vector<Array> at;
  for (int i = 0; i < 8; ++i) at.push_back(x(i) * s);
  for (int k = 0; k < n; ++k) {
    std::vector<Array> next;
    for (int i = 0; i < 8; ++i) {
      const auto of = [&](int j) { return at[static_cast<std::size_t>(j % 8)]; };
      next.push_back(i == k % 8 ? tn::sin(of(i) * 0.9f + of(i + 1) * 0.1f) : of(i) + 0.01f * of(i + 3));
    }
    at = std::move(next);
  }
  return tn::stack(at);
}
Array rolls_in_a_scan(const Array& x, int n) {
  const auto step = [&](const Array& carry, const Array& row) {
    Array c = carry;
    for (int i = 0; i < n; ++i)
      c = tn::sin(c) + tn::concatenate({c(tn::slice(-1, {})), c(tn::slice(0, -1))}, 0) * s + row;
    return std::pair(c, c);
  };
  return tn::scan(step, x(0), x).second;
}
Array chain(const Array& x, int n) {
  Array y = x;
  for (int i = 0; i < n / 3; ++i) y = i % 3 ? tn::sin(y) * s + 0.01f * static_cast<float>(i) : tn::exp(-y) * 0.5f;
  return y;
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("TENON_CACHE", "off", 1);  // what is timed is compiled anew
  const auto wanted = [&](std::string_view name) { return argc < 2 || name.find(argv[1]) != name.npos; };
  tn::jit([](const Array& x) { return x + 1; })(ramp({3}));  // what the first compilation of a process loads
  held();
  const Inner inner[] = {{"20 ops and a sum", twenty, ramp({1000}), true},
                         {"10 x sin(x @ x)", ten_products, ramp({20, 20}, 0.1f), false},
                         {"100 ops", hundred, ramp({1000}), false}};
  for (const Inner& each : inner)
    if (wanted(each.name)) calls(each);
  const Program programs[] = {{"tree of sines", tree, {50, 100, 200, 400, 800}, ramp({1000})},
                              {"shared values", shared, {50, 100, 200, 400, 800}, ramp({1000})},
                              {"captured arrays", captured, {250, 500, 1000, 2000}, ramp({16})},
                              {"eight scalars", eight_scalars, {225, 450, 900}, ramp({8})},
                              {"rolls in a scan", rolls_in_a_scan, {5, 10, 20, 40}, ramp({10, 100})},
                              {"chain", chain, {250, 500, 1000, 2000, 3000}, ramp({1000})}};
  for (const Program& each : programs)
    if (wanted(each.name)) grow(each);
}
