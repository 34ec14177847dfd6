// Several threads trace, compile and call at once.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

TEST(Threads, TraceCompileAndCallAtOnce) {
  const auto shared = tn::jit(tn::grad([](Array x) { return tn::sum(tn::sin(x) * x); }));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 1; i <= 20; ++i) {
        // Sizes that all threads ask for, and sizes of this thread's own.
        for (const int n : {i, 100 * (t + 1) + i}) {
          const Array x = tn::arange(n, tn::DType::f64) * 0.1;
          const Array got = shared(x);
          for (int k = 0; k < n; ++k) {
            const double v = 0.1 * k, want = std::cos(v) * v + std::sin(v);
            wrong[static_cast<std::size_t>(t)] += std::abs(got.span<double>()[k] - want) > 1e-12 * (1 + std::abs(want));
          }
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}
