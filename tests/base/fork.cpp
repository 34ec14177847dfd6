// Sections that forks wait for: none is cut in two, nobody waits for ever, and what they own goes when they have ended.
#include "tenon/base/fork.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/in_child.h"

using namespace std::chrono_literals;
using tenon::ForkMutex;
using tenon::ForkSection;
using tenon::in_child;

namespace {

// Threads that do the same again and again while this lives.
class Busy {
 public:
  template <class Act>
  Busy(int count, Act act) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this, act] {
        act();
        ++begun_;
        while (!ends_) act();
      });
    // Where a thread begins during a fork, the child has its locks for ever: those of sanitizers, too.
    while (begun_ < count) std::this_thread::yield();
  }
  ~Busy() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::atomic<int> begun_{0};
  std::vector<std::thread> threads_;
};

// Two numbers that are equal but for moments.
struct Pair {
  std::atomic<int> first{0}, second{0};
  void change() {
    ++first;
    std::this_thread::sleep_for(50us);
    ++second;
  }
  bool whole() const { return first == second; }
};

}  // namespace

TEST(Fork, NoSectionIsCutInTwo) {
  Pair pairs[3];
  std::atomic<int> next{0};
  const Busy busy(3, [&pairs, &next] {
    thread_local const int mine = next++;
    const ForkSection section;
    const ForkSection nested;
    pairs[mine].change();
  });
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(in_child([&] { return pairs[0].whole() && pairs[1].whole() && pairs[2].whole(); })) << i;
}

TEST(Fork, AMutexIsFreeInTheChild) {
  ForkMutex mutex;
  Pair pair;
  const auto change = [&] {
    const std::lock_guard lock(mutex);
    pair.change();
  };
  const Busy busy(3, change);
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(in_child([&] {
      change();
      return pair.whole();
    })) << i;
}

TEST(Fork, AMutexKeepsOthersOut) {
  ForkMutex mutex;
  int count = 0;
  std::atomic<int> done{0};
  {
    const Busy busy(4, [&] {
      const std::lock_guard lock(mutex);
      ++count;
      ++done;
    });
    while (done < 100000) std::this_thread::yield();
  }
  EXPECT_EQ(count, done);
}

TEST(Fork, OneAfterAnotherInTheChildToo) {
  if (!tenon::knows_threads_of_children)
    GTEST_SKIP() << "ThreadSanitizer confuses threads of the child with the parent's";
  const Busy busy(2, [] { const ForkSection section; });
  ASSERT_TRUE(in_child([] {
    std::atomic<bool> entered = false;
    std::thread([&] {
      const ForkSection section;
      entered = true;
    }).join();
    return entered && in_child([] { return in_child([] { return true; }); });
  }));
}

TEST(Fork, SeveralThreadsForkAtOnce) {
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        {
          const ForkSection section;
        }
        right += in_child([] {
          const ForkSection section;
          return true;
        })
                     ? 1
                     : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 60);
}

// Threads fork inside of sections, while others wait for what they hold; in the child they go on inside.
TEST(Fork, InsideOfASection) {
  ForkMutex mutex;
  std::atomic<int> right{0};
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      const std::lock_guard lock(mutex);
      const pid_t child = tenon::forked();
      if (child == 0) {
        mutex.unlock();
        tenon::end_child([&] {
          const std::lock_guard again(mutex);
          return static_cast<bool>(in_child([] { return true; }));
        });
      }
      right += tenon::was_right(child) ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 60);
}

TEST(Fork, ThreadsThatForkInSectionsDoNotWaitForEachOther) {
  std::atomic<int> inside{0};
  std::atomic<int> right{0};
  const auto work = [&] {
    const ForkSection section;
    ++inside;
    while (inside < 2) std::this_thread::yield();
    right += in_child([] { return true; }) ? 1 : 0;
  };
  std::thread first(work), second(work);
  first.join(), second.join();
  EXPECT_EQ(right, 2);
}

TEST(Fork, WhatASectionOwnsGoesBehindIt) {
  std::vector<int> seen;
  const auto note = [](void* to) { static_cast<std::vector<int>*>(to)->push_back(1); };
  tenon::outside_fork_sections(note, &seen);
  EXPECT_EQ(seen.size(), 1);
  ForkMutex mutex;
  {
    const ForkSection outer;
    {
      const std::lock_guard lock(mutex);
      tenon::outside_fork_sections(note, &seen);
      tenon::outside_fork_sections(note, &seen);
    }
    EXPECT_EQ(seen.size(), 1);
  }
  EXPECT_EQ(seen.size(), 3);
}

// A thread in a section waits for another one, which locks, while a third one forks.
TEST(Fork, ASectionIsSharedWithThoseThatItsOwnerWaitsFor) {
  ForkMutex mutex;
  Pair pair;
  std::atomic<int> forks{0};
  {
    const Busy busy(1, [&] {
      tenon::ForkLoan loan;
      std::thread([&] {
        const tenon::ForkLoan::Share share(loan);
        for (int i = 0; i < 20; ++i) {
          const std::lock_guard lock(mutex);
          pair.change();
        }
      }).join();
    });
    for (int i = 0; i < 50; ++i)
      forks += in_child([&] {
        const std::lock_guard lock(mutex);
        return pair.whole();
      })
                   ? 1
                   : 0;
  }
  EXPECT_EQ(forks, 50);
}

TEST(Fork, WhatASharedSectionOwnsGoesWhereItsOwnerIs) {
  std::vector<std::thread::id> seen;
  const auto note = [](void* to) {
    static_cast<std::vector<std::thread::id>*>(to)->push_back(std::this_thread::get_id());
  };
  {
    tenon::ForkLoan loan;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        const tenon::ForkLoan::Share share(loan);
        const ForkSection nested;
        for (int i = 0; i < 5; ++i) tenon::outside_fork_sections(note, &seen);
      });
    for (std::thread& thread : threads) thread.join();
    tenon::outside_fork_sections(note, &seen);
    EXPECT_TRUE(seen.empty());
  }
  EXPECT_EQ(seen, std::vector(16, std::this_thread::get_id()));
}

TEST(Fork, LastingThingsAreMadeOnce) {
  static constinit tenon::Lasting<std::atomic<int>> number;
  static std::atomic<int> made;
  {
    const Busy busy(4, [] {
      number.get([] {
        ++made;
        std::this_thread::sleep_for(1ms);
        return 7;
      })++;
    });
    while (made == 0) std::this_thread::yield();  // a thread is making it: the fork waits until it is made
    ASSERT_TRUE(in_child([] { return number.get([] { return 0; }) >= 7; }));
  }
  EXPECT_EQ(made, 1);
}

TEST(Fork, LocksThatForksHold) {
  static std::mutex held;
  static tenon::ForkLock lock{[]() noexcept { held.lock(); }, []() noexcept { held.unlock(); }};
  tenon::hold_at_forks(lock);
  Pair pair;
  const auto change = [&] {
    const ForkSection section;  // the lock is taken inside of a section too
    const std::lock_guard guard(held);
    pair.change();
  };
  const Busy busy(2, change);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(in_child([&] {
      change();
      return pair.whole();
    })) << i;
}
