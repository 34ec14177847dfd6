// Context: what a thread's work obeys while it runs. Today a flag by which another thread stops it.
#pragma once

#include <atomic>
#include <cstdint>

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

  void cancel() noexcept { flag_.store(1, std::memory_order_relaxed); }
  // Makes it usable again. Call it when nothing runs under it any more.
  void reset() noexcept { flag_.store(0, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return flag_.load(std::memory_order_relaxed) != 0; }
  void check() const {
    if (cancelled()) throw_cancelled();
  }

  // Of the innermost ContextScope on this thread; else one that nobody cancels.
  static const Context& current() noexcept;
  const std::atomic<std::uint32_t>* flag() const noexcept { return &flag_; }  // for generated code
  [[noreturn]] static void throw_cancelled();

 private:
  std::atomic<std::uint32_t> flag_{0};
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
