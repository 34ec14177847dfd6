// What a process made by fork does: for tests that forks are safe.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#if defined(__SANITIZE_THREAD__)
// Forking with threads and starting new ones in the child is what is tested.
extern "C" [[gnu::weak]] const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace tenon {

#if defined(__SANITIZE_THREAD__)
// It takes a child's thread for one of the parent's where both have the same number.
inline constexpr bool knows_threads_of_children = false;
#else
inline constexpr bool knows_threads_of_children = true;
#endif

// In a child: ends it, and tells whether it was right. What it throws is wrong.
template <class Check>
[[noreturn]] void end_child(Check&& check) {
  bool right = false;
  try {
    right = check();
  } catch (const std::exception&) {
  }
  ::_exit(right ? 0 : 1);
}

// Forks: 0 in the child, which dies where it hangs. Where it cannot, -1.
inline pid_t forked(unsigned seconds = 60) {
  const pid_t child = ::fork();
  if (child == 0) ::alarm(seconds);
  return child;
}

inline testing::AssertionResult was_right(pid_t child) {
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return testing::AssertionFailure() << "there is no child";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return testing::AssertionFailure() << "the child hangs";
  if (WIFSIGNALED(status)) return testing::AssertionFailure() << "signal " << WTERMSIG(status) << " ended the child";
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return testing::AssertionFailure() << "the child was wrong";
  return testing::AssertionSuccess();
}

// Whether check() holds in a child.
template <class Check>
testing::AssertionResult in_child(Check&& check) {
  const pid_t child = forked();
  if (child == 0) end_child(check);
  return was_right(child);
}

}  // namespace tenon
