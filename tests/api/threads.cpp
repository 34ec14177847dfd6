// Several threads trace, transform, compile and call at once. Under ThreadSanitizer these also look for races in our
// own code; what generated code does is invisible to it.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <latch>
#include <sstream>
#include <thread>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using tn::Array;

namespace {

constexpr int thread_count = 4;

// f(t) on every thread t, all let go at the same time; what they throw is a failure.
void on_threads(const std::function<void(int)>& f) {
  std::latch start(thread_count);
  std::vector<std::string> thrown(thread_count);
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        f(t);
      } catch (const std::exception& e) {
        thrown[static_cast<std::size_t>(t)] = e.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(thrown, std::vector<std::string>(thread_count));
}

bool close(double got, double want) { return std::abs(got - want) <= 1e-12 * (1 + std::abs(want)); }

// c <- sin(c + x) over the rows of xs, then the mean square of what was stacked.
Array loss(const Array& c, const Array& xs) {
  auto cell = [](const Array& c, const Array& x) {
    const Array next = tn::sin(c + x);
    return std::pair(next, next);
  };
  return tn::mean(tn::square(tn::scan(cell, c, xs).second));
}

}  // namespace

TEST(Threads, TraceCompileAndCallAtOnce) {
  const auto shared = tn::jit(tn::grad([](Array x) { return tn::sum(tn::sin(x) * x); }));
  std::atomic<int> wrong = 0;
  on_threads([&](int t) {
    for (int i = 1; i <= 20; ++i) {
      // Sizes that all threads ask for, and sizes of this thread's own.
      for (const int n : {i, 100 * (t + 1) + i}) {
        const Array x = tn::arange(n, tn::DType::f64) * 0.1;
        const Array got = shared(x);
        for (int k = 0; k < n; ++k) {
          const double v = 0.1 * k;
          wrong += !close(got.span<double>()[k], std::cos(v) * v + std::sin(v));
        }
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Every thread makes the same derivatives of the same Programs, so that all meet in the memo tables and the cache of
// executables, and others of its own; eagerly, batched and compiled.
TEST(Threads, TransformAtOnce) {
  std::atomic<int> wrong = 0;
  on_threads([&](int t) {
    for (const int steps : {3, 5 + t}) {
      const Array xs = tn::reshape(tn::arange(4 * steps, tn::DType::f64), {steps, 4}) * 0.1;
      const Array c = tn::full({4}, 0.3) + 0.1 * tn::arange(4, tn::DType::f64);
      auto slope = tn::grad(loss);
      const Array eager = slope(c, xs), compiled = tn::jit(slope)(c, xs);
      const auto lanes = tn::jit(tn::vmap(slope, {.in_axes = {0, tn::none}}));
      const Array batched = lanes(tn::stack({c, 2.0 * c}), xs), doubled = slope(2.0 * c, xs);
      for (std::size_t k = 0; k < 4; ++k) {
        wrong += !close(compiled.span<double>()[k], eager.span<double>()[k]);
        wrong += !close(batched.span<double>()[k], eager.span<double>()[k]);
        wrong += !close(batched.span<double>()[4 + k], doubled.span<double>()[k]);
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Large products and printing of Programs among other threads' calls: the pool of workers and the tables of ops.
TEST(Threads, ProductsAndTextAtOnce) {
  const Array a = tn::reshape(tn::arange(128 * 128, tn::DType::f32), {128, 128}) * 1e-4f;
  const auto product = tn::jit([](Array x) { return tn::sum(tn::matmul(x, tn::transpose(x))); });
  const float want = product(a).item<float>();
  std::atomic<int> wrong = 0;
  on_threads([&](int t) {
    for (int i = 0; i < 5; ++i) {
      wrong += product(a).item<float>() != want;
      std::ostringstream text;
      text << tn::trace([t](Array x) { return tn::tanh(x) * double(t); })(a);
      wrong += text.str().find("tanh") == std::string::npos;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Errors on one thread leave the traces of others, and its own next ones, alone.
TEST(Threads, ErrorsAtOnce) {
  std::atomic<int> refused = 0;
  on_threads([&](int t) {
    for (int i = 0; i < 10; ++i) {
      const Array x = tn::arange(3 + t, tn::DType::f64);
      try {
        tn::jit([](Array v) { return v + tn::zeros({17}); })(x);
      } catch (const tn::ShapeError&) {
        ++refused;
      }
      EXPECT_EQ(tn::jit([](Array v) { return tn::sum(v); })(x).item<double>(), (3 + t) * (2 + t) / 2.);
    }
  });
  EXPECT_EQ(refused, 10 * thread_count);
}

// A traced handle belongs to the thread that traces: another one is told so.
TEST(Threads, AHandleOfAnotherThreadIsRefused) {
  std::string message;
  tn::jit([&](Array x) {
    std::thread other([&] { message = tn::message_of([&] { x + 1.0; }); });
    other.join();
    return x * 2.0;
  })(Array(1.0));
  EXPECT_NE(message.find("trace"), std::string::npos) << message;
}
