// Forks beside other threads. The child of a fork has the forking thread alone: what another thread held locked stays
// locked there, and what it had half done stays so. So what threads share is changed in sections that a fork waits for.
#pragma once

#include <atomic>
#include <mutex>

namespace tenon {

// A part of a thread's work that no fork of another thread cuts in two: the fork waits until it ends, and keeps others
// from beginning meanwhile. Sections nest. Inside runs no code of the user's, nor what waits for such code: the forking
// thread may hold what that waits for, Python's interpreter for one.
class ForkSection {
 public:
  ForkSection() noexcept;
  ~ForkSection();
  ForkSection(const ForkSection&) = delete;
  ForkSection& operator=(const ForkSection&) = delete;
};

// Whether this thread is in one.
bool in_fork_section() noexcept;

// Calls act(what): now, or where this thread is in a section, at the end of the outermost one. For what owns things of
// the user's and may go anywhere.
void outside_fork_sections(void (*act)(void*), void* what) noexcept;

// A section that other threads share while its owner waits for them: what they do is part of it, so a fork waits for
// the owner alone. Without it a fork would keep them out of sections of their own, and they the owner, whom the fork
// waits for.
class ForkLoan {
 public:
  ForkLoan() = default;
  ~ForkLoan();
  ForkLoan(const ForkLoan&) = delete;
  ForkLoan& operator=(const ForkLoan&) = delete;

  // While it lives, this thread is in the owner's section. What it leaves to outside_fork_sections() the owner does.
  class Share {
   public:
    explicit Share(ForkLoan& loan) noexcept;
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    ForkLoan& loan_;
    bool first_;  // the thread is in no other section
  };

 private:
  ForkSection section_;
  std::atomic<void*> acts_{nullptr};
};

// A mutex whose owner is in a section. Who only waits for it is in none on its account.
class ForkMutex {
 public:
  constexpr ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;
  void lock() noexcept;
  void unlock() noexcept;

 private:
  std::atomic<int> held_{0};
};

// For static storage: made by the first who asks for it, and never destroyed. A static of a function is made under a
// lock of the language's own, of which forks know nothing.
template <class T>
class Lasting {
 public:
  constexpr Lasting() = default;
  template <class Make>
  T& get(const Make& make) {
    if (T* made = made_.load(std::memory_order_acquire)) [[likely]]
      return *made;
    const std::lock_guard lock(mutex_);
    T* made = made_.load(std::memory_order_relaxed);
    if (made == nullptr) made_.store(made = new T(make()), std::memory_order_release);
    return *made;
  }
  T& get() {
    return get([] { return T(); });
  }

 private:
  std::atomic<T*> made_{nullptr};
  ForkMutex mutex_;
};

// A lock that is worth no section, since calls take it often. Forks take it, when nobody is in a section any more;
// nobody enters one while he holds it.
struct ForkLock {
  void (*hold)() noexcept;
  void (*let_go)() noexcept;
  ForkLock* next = nullptr;
};
void hold_at_forks(ForkLock& lock);  // which lasts as long as the process

}  // namespace tenon
