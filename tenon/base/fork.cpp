#include "tenon/base/fork.h"

#include <pthread.h>

#include <memory>
#include <new>
#include <utility>

namespace tenon {
namespace {

constinit std::atomic<int> inside{0};  // threads in a section, but for those that fork
constinit std::atomic<int> closed{0};  // 1: a fork waits for them, or runs
constinit std::mutex forking;
constinit ForkLock* locks = nullptr;

struct Act {
  void (*act)(void*);
  void* what;
  Act* next;
};
constinit thread_local int depth = 0;  // of the sections that this thread is in
constinit thread_local Act* acts = nullptr;

void count_out() noexcept {
  if (inside.fetch_sub(1) == 1 && closed.load() != 0) inside.notify_all();
}

void enter() noexcept {
  if (depth++ > 0) return;
  for (;;) {
    inside.fetch_add(1);
    if (closed.load() == 0) return;
    count_out();
    closed.wait(1);
  }
}

void leave() noexcept {
  if (--depth > 0) return;
  count_out();
  while (acts != nullptr) {
    const std::unique_ptr<Act> first(acts);
    acts = first->next;
    first->act(first->what);
  }
}

// A thread that forks within a section lives on in the child and is waited for by nobody.
void before_fork() {
  if (depth > 0) count_out();
  forking.lock();
  closed.store(1);
  for (int others = inside.load(); others != 0; others = inside.load()) inside.wait(others);
  for (ForkLock* lock = locks; lock != nullptr; lock = lock->next) lock->hold();
}

void open() {
  for (ForkLock* lock = locks; lock != nullptr; lock = lock->next) lock->let_go();
  closed.store(0);
  closed.notify_all();
  forking.unlock();
}

void after_fork() {
  if (depth > 0) inside.fetch_add(1);
  open();
}

void begin_child() {
  inside.store(depth > 0 ? 1 : 0);  // others may have counted themselves in, only to find it closed
  open();
}

const int watched = ::pthread_atfork(before_fork, after_fork, begin_child);

}  // namespace

ForkSection::ForkSection() noexcept { enter(); }
ForkSection::~ForkSection() { leave(); }

bool in_fork_section() noexcept { return depth > 0; }

void outside_fork_sections(void (*act)(void*), void* what) noexcept {
  if (depth == 0) return act(what);
  acts = new Act{act, what, acts};  // NOLINT(bugprone-unhandled-exception-at-new): no memory ends the process
}

namespace {

Act* last_of(Act* list) noexcept {
  while (list->next != nullptr) list = list->next;
  return list;
}

}  // namespace

ForkLoan::~ForkLoan() {
  auto* const lent = static_cast<Act*>(acts_.load());
  if (lent == nullptr) return;
  last_of(lent)->next = acts;
  acts = lent;
}

ForkLoan::Share::Share(ForkLoan& loan) noexcept : loan_(loan), first_(depth == 0) { ++depth; }

ForkLoan::Share::~Share() {
  --depth;
  if (!first_ || acts == nullptr) return;
  Act* const mine = std::exchange(acts, nullptr);
  Act* const last = last_of(mine);
  void* before = loan_.acts_.load();
  do last->next = static_cast<Act*>(before);
  while (!loan_.acts_.compare_exchange_weak(before, mine));
}

void ForkMutex::lock() noexcept {
  for (;;) {
    enter();
    if (held_.exchange(1, std::memory_order_acquire) == 0) return;
    leave();
    held_.wait(1, std::memory_order_relaxed);
  }
}

void ForkMutex::unlock() noexcept {
  held_.store(0, std::memory_order_release);
  held_.notify_one();
  leave();
}

void hold_at_forks(ForkLock& lock) {
  const ForkSection section;
  static constinit ForkMutex mutex;
  const std::lock_guard guard(mutex);
  lock.next = locks;
  locks = &lock;
}

}  // namespace tenon
