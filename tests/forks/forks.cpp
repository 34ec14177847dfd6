// A process forks while its other threads trace, transform, compile, run and let go: its children do all of that too.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tenon/runtime/memory/allocator.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/in_child.h"
#include "tests/sanitizers.h"

namespace tn = tenon;
using tn::Array;
using tn::in_child;

namespace {

std::atomic<int> last{0};

bool near(const Array& got, const std::function<double(double)>& want) {
  const std::span<const double> elements = got.span<double>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const double wanted = want(0.1 * static_cast<double>(i));
    if (std::abs(elements[i] - wanted) > 1e-9 * (1 + std::abs(wanted))) return false;
  }
  return true;
}

tn::ProgramRef traced(const std::function<Array(const Array&)>& f, const tn::Type& type) {
  tn::Scope scope;
  return scope.finish(tn::Arrays{f(scope.input(type))}).program;
}

Array xs(std::int64_t n) { return tn::arange(n, tn::DType::f64) * 0.1; }

// Programs that nobody has asked for before: each has a number and a size of its own.
bool works_on_what_is_new() {
  const int number = ++last;
  const double k = 1 + number * 1e-3;
  const Array x = xs(2 + number % 97);
  const auto f = [k](const Array& v) { return tn::sum(tn::sin(v * k) * v); };
  const auto slope = tn::jit(tn::grad(f));
  const auto wanted = [k](double v) { return std::cos(k * v) * k * v + std::sin(k * v); };
  bool right = near(slope(x), wanted);
  right = right && near(tn::jit(tn::vmap([k](const Array& v) { return tn::exp(-v) * k; }))(x),
                        [k](double v) { return std::exp(-v) * k; });
  right = right && near(x * x + k, [k](double v) { return v * v + k; });
  const tn::ProgramRef program = traced(f, x.type());
  return right && tn::parse(tn::print(*program))->hash() == program->hash();
}

// Memory that is too large for the caches of threads comes and goes.
void move_memory() {
  const Array large = tn::zeros({1 << 18}, tn::DType::f64);
  tn::trim_memory();
}

// Its children have the tables of ASan's shadow memory to copy.
const int forks = tn::under_address_sanitizer() ? 5 : 25;

// ASan of g++ 12 does not take its allocator's locks for a fork: a child waits for ever for one that another thread
// had.
const int threads_beside = tn::under_address_sanitizer() ? 0 : 2;

class Workers {
 public:
  Workers() {
    for (int t = 0; t < threads_beside; ++t)
      threads_.emplace_back([this] {
        while (!ends_) {
          wrong_ += works_on_what_is_new() ? 0 : 1;
          move_memory();
        }
      });
  }
  ~Workers() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    EXPECT_EQ(wrong_, 0);
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::atomic<int> wrong_{0};
  std::vector<std::thread> threads_;
};

}  // namespace

TEST(Forks, BesideThreadsThatCompile) {
  const Workers workers;
  for (int i = 0; i < forks; ++i) ASSERT_TRUE(in_child(works_on_what_is_new)) << i;
}

TEST(Forks, AChildOfAChild) {
  if (!tn::knows_threads_of_children) GTEST_SKIP() << "ThreadSanitizer confuses threads of the child with the parent's";
  const Workers workers;
  for (int i = 0; i < forks * 2 / 5; ++i)
    ASSERT_TRUE(in_child([] {
      const Workers more;
      for (int k = 0; k < 5; ++k)
        if (!in_child(works_on_what_is_new)) return false;
      return works_on_what_is_new();
    })) << i;
}

// The child goes on with the trace that it was made in.
TEST(Forks, InsideOfATrace) {
  const Workers workers;
  for (int i = 0; i < forks; ++i) {
    pid_t child = -1;
    const auto f = tn::jit([&](const Array& x) {
      const Array y = x * x;
      child = tn::forked();
      return tn::sum(y * (i + 1));
    });
    const auto right = [&] {
      return f(Array{2.0, 2.0, 2.0}).item<double>() == 12 * (i + 1) && (child != 0 || works_on_what_is_new());
    };
    const bool here = right();
    if (child == 0) tn::end_child([&] { return here; });
    ASSERT_TRUE(here);
    ASSERT_TRUE(tn::was_right(child)) << i;
  }
}

// The child goes on with the compiled program that it was made in.
TEST(Forks, InsideOfACallOfTheUsersFunction) {
  const Workers workers;
  for (int i = 0; i < forks; ++i) {
    pid_t child = -1;
    const auto f = tn::jit([&](const Array& x) {
      const Array y = tn::host_call(
          [&](std::span<const Array> in) {
            child = tn::forked();
            return std::vector{child == 0 && !works_on_what_is_new() ? in[0] * 0.0 : in[0] * 2.0};
          },
          {x.type()}, {{x}})[0];
      return tn::sum(y) + i;
    });
    const bool here = f(Array{2.0, 2.0, 2.0}).item<double>() == 12 + i;
    if (child == 0) tn::end_child([&] { return here && works_on_what_is_new(); });
    ASSERT_TRUE(here);
    ASSERT_TRUE(tn::was_right(child)) << i;
  }
}

// What a program holds of the user's is let go of behind the lock of the table that it stood in, so it may compile.
TEST(Forks, WhatTablesLetGoOfMayCompile) {
  struct Compiles {
    ~Compiles() { (works_on_what_is_new() ? right : wrong) = true; }
    bool &right, &wrong;
  };
  const tn::Type number = Array(1.0).type();
  bool right = false, wrong = false;
  {
    const auto function = tn::host_function("held", [held = std::make_shared<Compiles>(right, wrong)](
                                                        std::span<const Array> in) { return tn::Arrays{in[0]}; });
    const auto f = [&](const Array& v) {
      return tn::host_call(function, {v.type()}, std::vector{v}, {.batch = tn::HostBatch::sequential})[0];
    };
    tn::vmap(traced(f, number), {true}, {true}, 2);
  }
  EXPECT_FALSE(right || wrong);
  for (int i = 0; i < 5000; ++i)  // more than the table holds
    tn::vmap(traced([i](const Array& v) { return v * (i + 0.25); }, number), {true}, {true}, 2);
  EXPECT_TRUE(right && !wrong);
}
