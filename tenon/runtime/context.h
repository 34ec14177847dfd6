// Context: what a thread's work obeys while it runs: a flag by which another thread stops it, or has it attend to
// something and go on.
#pragma once

#include <atomic>
#include <cstdint>

extern "C" {

// For generated code, where the flag of a Context is not 0: attends where that is asked for; 1 where the program is to
// stop, else 0.
std::int32_t tenon_stops(const std::atomic<std::uint32_t>* flag);
}

namespace tenon {

// Work that runs under a Context (ContextScope, or f.with(context) of a jitted function) can be stopped from any
// thread:
//
//   tn::Context context;
//   std::thread watch([&] { wait_for_the_user(); context.cancel(); });
//   try { result = f.with(context)(x); } catch (const tn::CancelledError&) { … }
//
// Native loops look at the flag about every 1,000 small steps, and at least every few milliseconds; programs of the
// reference evaluator look at it before each eqn; large matrix products many times. What was cancelled throws
// CancelledError and has no result; its arguments are as before, unless they were donated or written by into().
class Context {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void cancel() noexcept { flag_.store(stopped, std::memory_order_relaxed); }
  // What runs under it, in a loop or in the evaluator, soon calls what attend_by() named, on each of its threads.
  void ask_for_attention() noexcept { change(calm, attention); }
  void attended() noexcept { change(attention, calm); }
  static void attend_by(void (*act)()) noexcept;
  // Makes it usable again. Call it when nothing runs under it any more.
  void reset() noexcept { flag_.store(calm, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return flag_.load(std::memory_order_relaxed) == stopped; }
  void check() const {
    if (flag_.load(std::memory_order_relaxed) != calm && tenon_stops(&flag_) != 0) throw_cancelled();
  }

  // Of the innermost ContextScope on this thread; else one that nobody cancels.
  static const Context& current() noexcept;
  const std::atomic<std::uint32_t>* flag() const noexcept { return &flag_; }  // for generated code
  static constexpr std::uint32_t calm = 0, stopped = 1, attention = 2;
  [[noreturn]] static void throw_cancelled();

 private:
  void change(std::uint32_t from, std::uint32_t to) noexcept {
    flag_.compare_exchange_strong(from, to, std::memory_order_relaxed);
  }
  std::atomic<std::uint32_t> flag_{calm};
};

// While it lives, what this thread runs (jitted calls, eager ops, the reference evaluator) obeys the context, which
// must outlive it.
class ContextScope {
 public:
  explicit ContextScope(const Context& context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Context* before_;
};

}  // namespace tenon
