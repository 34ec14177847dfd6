// Tasks on all cores: each once, errors in order, beside forks, nested, and within sections.
#include "tenon/runtime/threads/tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/runtime/threads/threads.h"
#include "tests/in_child.h"

namespace tenon {
namespace {

class Tasks : public testing::Test {
 protected:
  int before_ = threads();
  ~Tasks() override { set_threads(before_); }
};

TEST_F(Tasks, EachOnce) {
  for (const int workers : {1, 2, 5}) {
    set_threads(workers);
    for (const std::size_t count : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> seen(count);
      run_tasks(count, [&](std::size_t i) { ++seen[i]; });
      for (const std::atomic<int>& each : seen) EXPECT_EQ(each, 1);
    }
  }
}

TEST_F(Tasks, TwoWorkAtOnce) {
  set_threads(2);
  std::atomic<int> here{0};
  run_tasks(2, [&](std::size_t) {  // ends where the other one has begun
    ++here;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (here < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(here, 2);
  });
}

TEST_F(Tasks, TheFirstErrorByNumberIsThrownWhenAllHaveEnded) {
  for (const int workers : {1, 4}) {
    set_threads(workers);
    std::atomic<int> ended{0};
    try {
      run_tasks(20, [&](std::size_t i) {
        ++ended;
        if (i == 19 || i == 3 || i == 11) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "3");
    }
    EXPECT_EQ(ended, 20);
  }
}

TEST_F(Tasks, TasksOfTasks) {
  set_threads(3);
  std::atomic<int> count{0};
  run_tasks(5, [&](std::size_t) { run_tasks(5, [&](std::size_t) { ++count; }); });
  EXPECT_EQ(count, 25);
}

// The caller is in a section, its tasks lock, and another thread forks meanwhile.
TEST_F(Tasks, BesideForks) {
  set_threads(2);
  ForkMutex outer, inner;
  std::atomic<bool> ends{false};
  std::thread busy([&] {
    while (!ends) {
      const std::lock_guard lock(outer);
      run_tasks(4, [&](std::size_t) {
        const std::lock_guard each(inner);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      });
    }
  });
  int right = 0;
  for (int i = 0; i < 50; ++i)
    right += in_child([&] {
      std::atomic<int> count{0};
      run_tasks(3, [&](std::size_t) {
        const std::lock_guard each(inner);
        ++count;
      });
      return count == 3;
    })
                 ? 1
                 : 0;
  ends = true;
  busy.join();
  EXPECT_EQ(right, 50);
}

}  // namespace
}  // namespace tenon
