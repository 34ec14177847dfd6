// A parallel loop of two empty bodies: back to back, and after pauses in which the caller computes or sleeps, beside
// libgomp where it is installed.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace {

using Fork = void (*)();
using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);

Parallel gomp = nullptr;
std::atomic<int> ran{0};

void fork_tenon() {
  tenon_parallel_for([](void*, std::int64_t, std::int64_t, int) { ran.fetch_add(1, std::memory_order_relaxed); },
                     nullptr, 2, 1);
}
void fork_gomp() {
  gomp([](void*) { ran.fetch_add(1, std::memory_order_relaxed); }, nullptr, 2, 0);
}

void compute(double seconds) {
  for (const double end = bench::now() + seconds; bench::now() < end;) {
  }
}
void sleep(double seconds) {
  const timespec time{0, static_cast<long>(seconds * 1e9)};
  ::nanosleep(&time, nullptr);
}

void measure(const char* who, Fork fork) {
  bench::emit(std::string("fork-join, ") + who, "back to back", bench::median_seconds(fork) * 1e6, "us");
  const auto after = [&](const char* figure, void (*pause)(double), double seconds, int repeats) {
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
      pause(seconds);
      const double start = bench::now();
      fork();
      times.push_back(bench::now() - start);
    }
    std::sort(times.begin(), times.end());
    bench::emit(std::string("fork-join, ") + who, figure, times[times.size() / 2] * 1e6, "us");
    bench::emit(std::string("fork-join, ") + who, std::string(figure) + ", 90 %", times[times.size() * 9 / 10] * 1e6,
                "us");
  };
  after("after 20 us of work", compute, 20e-6, 2000);
  after("after 200 us of work", compute, 200e-6, 1000);
  after("after 2 ms of work", compute, 2e-3, 200);
  after("after 2 ms of sleep", sleep, 2e-3, 200);
}

}  // namespace

int main() {
  tenon::set_threads(2);
  measure("tenon", fork_tenon);
  if (void* const library = ::dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL))
    gomp = reinterpret_cast<Parallel>(::dlsym(library, "GOMP_parallel"));
  if (gomp != nullptr) measure("libgomp", fork_gomp);
}
