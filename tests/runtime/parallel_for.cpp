// The pool: every range once, whatever the sizes, threads, nesting, concurrent callers and forks.
#include "tenon/runtime/threads/parallel_for.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <xmmintrin.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/runtime/threads/processors.h"
#include "tests/in_child.h"

namespace {

template <class F>
void parallel(std::int64_t n, std::int64_t grain, F f) {
  tenon_parallel_for([](void* context, std::int64_t begin, std::int64_t end,
                        int worker) { (*static_cast<F*>(context))(begin, end, worker); },
                     &f, n, grain);
}

template <class F>
bool together(int workers, F f) {
  return tenon_parallel_run([](void* context, int worker) { (*static_cast<F*>(context))(worker); }, &f, workers);
}

class ParallelFor : public testing::Test {
 protected:
  int before_ = tenon::threads();
  ~ParallelFor() override { tenon::set_threads(before_); }
};

// How often each index of [0, n) was visited, plain ints on purpose: two workers in one range are a race.
std::vector<int> visits(std::int64_t n, std::int64_t grain) {
  std::vector<int> seen(static_cast<std::size_t>(n), 0);
  parallel(n, grain, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  return seen;
}

TEST_F(ParallelFor, EveryIndexOnce) {
  for (const int count : {1, 2, 3, 8}) {
    tenon::set_threads(count);
    for (const std::int64_t n : {0, 1, 2, 3, 7, 64, 1000})
      for (const std::int64_t grain : {-1, 1, 2, 64, 5000})
        EXPECT_EQ(visits(n, grain), std::vector<int>(static_cast<std::size_t>(n), 1)) << n << " by " << grain;
  }
}

TEST_F(ParallelFor, RangesAreMultiplesOfTheGrainAndWorkersNumberThem) {
  tenon::set_threads(4);
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges(4, {-1, -1});
  parallel(1001, 64, [&](std::int64_t begin, std::int64_t end, int worker) {
    ranges.at(static_cast<std::size_t>(worker)) = {begin, end};
  });
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 256}, {256, 512}, {512, 768}, {768, 1001}};
  EXPECT_EQ(ranges, expected);
}

TEST_F(ParallelFor, LargestSizesDoNotOverflow) {
  tenon::set_threads(4);
  constexpr auto n = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t grain : {std::int64_t(1), n}) {
    std::atomic<std::uint64_t> total{0};
    parallel(n, grain, [&](std::int64_t begin, std::int64_t end, int) {
      total += static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    });
    EXPECT_EQ(total, static_cast<std::uint64_t>(n));
  }
}

TEST_F(ParallelFor, NestedLoopsRunInTheirWorker) {
  tenon::set_threads(4);
  std::atomic<int> total{0};
  EXPECT_FALSE(tenon_inside_parallel());
  parallel(4, 1, [&](std::int64_t, std::int64_t, int) {
    EXPECT_TRUE(tenon_inside_parallel());
    const auto self = std::this_thread::get_id();
    parallel(100, 1, [&](std::int64_t begin, std::int64_t end, int) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      total += static_cast<int>(end - begin);
    });
    EXPECT_FALSE(together(2, [](int) { FAIL() << "must not be called"; }));
  });
  EXPECT_EQ(total, 400);
}

TEST_F(ParallelFor, ManyShortLoopsBackToBackWithMoreThreadsThanProcessors) {
  for (const int count : {2, 9}) {
    tenon::set_threads(count);
    std::vector<std::int64_t> sums(16, 0);
    for (int round = 0; round < 3000; ++round)
      parallel(16, 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(i)] += i;
      });
    for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)], 3000 * i);
  }
}

TEST_F(ParallelFor, ConcurrentCallersAndChangesOfTheThreadCount) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 500; ++round) {
        if (caller == 0) tenon::set_threads(1 + round % 5);
        parallel(10, 1, [&](std::int64_t begin, std::int64_t end, int) { total += end - begin; });
      }
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 500 * 10);
}

TEST_F(ParallelFor, WorkersOfARunMeet) {
  tenon::set_threads(3);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> arrived{0};
    std::array<int, 3> calls{};
    ASSERT_TRUE(together(3, [&](int worker) {
      ++calls[static_cast<std::size_t>(worker)];
      ++arrived;
      while (arrived < 3) std::this_thread::yield();  // hangs unless all three run at once
    }));
    EXPECT_EQ(calls, (std::array<int, 3>{1, 1, 1}));
  }
  EXPECT_FALSE(together(4, [](int) { FAIL() << "there are 3 threads"; }));
  EXPECT_FALSE(together(0, [](int) { FAIL() << "nothing to run"; }));
}

TEST_F(ParallelFor, ConcurrentRunsWaitForEachOther) {
  tenon::set_threads(2);
  std::vector<std::thread> callers;
  std::atomic<int> total{0};
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::atomic<int> arrived{0};
        EXPECT_TRUE(together(2, [&](int) {
          ++arrived;
          while (arrived < 2) std::this_thread::yield();
          ++total;
        }));
      }
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 3 * 100 * 2);
}

TEST_F(ParallelFor, TheCallersFloatingPointModeHoldsInWorkers) {
  tenon::set_threads(2);
  const unsigned before = _mm_getcsr();
  for (const unsigned mode : {before | 0x8040u, before}) {  // flush to zero, subnormals are zero
    _mm_setcsr(mode);
    std::atomic<int> arrived{0}, kept{0};
    ASSERT_TRUE(together(2, [&](int) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
      kept += (_mm_getcsr() & 0x8040u) == (mode & 0x8040u);
    }));
    EXPECT_EQ(kept, 2);
  }
  _mm_setcsr(before);
}

TEST_F(ParallelFor, AChildOfAForkHasWorkersOfItsOwn) {
  tenon::set_threads(3);
  EXPECT_EQ(visits(100, 1), std::vector<int>(100, 1));
  EXPECT_TRUE(tenon::in_child([] {
    std::atomic<int> arrived{0};
    const bool met = together(3, [&](int) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
    return met && visits(100, 1) == std::vector<int>(100, 1);
  }));
  EXPECT_EQ(visits(100, 1), std::vector<int>(100, 1));
}

TEST_F(ParallelFor, ThreadCounts) {
  EXPECT_GE(tenon::available_processors(), 1);
  EXPECT_THROW(tenon::set_threads(0), tenon::RuntimeError);
  EXPECT_EQ(tenon::threads(), before_);
  ::setenv("TENON_NUM_THREADS", "5", 1);
  EXPECT_EQ(tenon::initial_threads(2), 5);
  for (const char* wrong : {"", "0", "-3", "4x", "99999999999999999999"}) {
    ::setenv("TENON_NUM_THREADS", wrong, 1);
    EXPECT_EQ(tenon::initial_threads(2), 2) << wrong;
  }
  ::unsetenv("TENON_NUM_THREADS");
}

// Waking a sleeping worker elsewhere than on the caller's processor leaves every thread's affinity mask as it was.
TEST_F(ParallelFor, NothingStaysPinned) {
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  tenon::set_threads(CPU_COUNT(&mine));
  for (int round = 0; round < 20; ++round) {
    ::usleep(2000);  // longer than workers spin
    EXPECT_EQ(visits(100, 1), std::vector<int>(100, 1));
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t mask;
    ASSERT_EQ(::sched_getaffinity(std::stoi(entry.path().filename().string()), sizeof mask, &mask), 0);
    EXPECT_TRUE(CPU_EQUAL(&mask, &mine)) << entry.path();
  }
}

}  // namespace
