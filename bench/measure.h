// Timing for our benchmarks, and the JSON line a figure that bench/report.py reads. The same form as
// bench/limits/limits.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One figure. `unit` is one that bench/report.py converts: s, ms, us, ns, ns/iter, bytes, exponent, count; none of a
// checksum.
inline void emit(const std::string& which, const std::string& figure, double value, const char* unit) {
  char number[32] = "NaN";  // as JSON readers take it
  if (!std::isnan(value)) std::snprintf(number, sizeof number, "%.9g", value);
  std::printf("{\"case\":\"%s\",\"figure\":\"%s\",\"value\":%s,\"unit\":\"%s\"}\n", which.c_str(), figure.c_str(),
              number, unit);
  std::fflush(stdout);
}

// Keeps the compiler from dropping the work that made `value`.
template <class T>
void keep(T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

struct Times {
  double median = 0, p99 = 0;  // seconds a call
};

// Median over batches of about 20 ms, as the limits take it. What the function gives is kept.
template <class F, class... Args>
double median_seconds(F&& f, const Args&... args) {
  const auto call = [&] {
    if constexpr (std::is_void_v<std::invoke_result_t<F, const Args&...>>) {
      f(args...);
    } else {
      auto result = f(args...);
      keep(result);
    }
  };
  call();
  double start = now();
  call();
  const double one = std::max(now() - start, 1e-9);
  const long calls = std::clamp(static_cast<long>(0.02 / one), 1L, 100000L);
  std::vector<double> times;
  for (int repeat = 0; repeat < (one * calls > 0.5 ? 7 : 11); ++repeat) {
    start = now();
    for (long i = 0; i < calls; ++i) call();
    times.push_back((now() - start) / calls);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// Each call timed on its own, for the slow tail; the clock itself costs about 20 ns of each.
template <class F>
Times call_seconds(F&& f, long calls = 20000) {
  for (long i = 0; i < 100; ++i) f();
  std::vector<double> times(calls);
  for (double& time : times) {
    const double start = now();
    f();
    time = now() - start;
  }
  std::sort(times.begin(), times.end());
  return {times[calls / 2], times[calls - calls / 100 - 1]};
}

}  // namespace bench
