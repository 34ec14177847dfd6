#include "executor.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <thread>
#include <utility>

#include "finite.h"
#include "rooms.h"
#include "tenon/ir/bind.h"

namespace tenon::python {
namespace {

// What SIGINT cancels: everything that runs. The handler of Python's runs too, and raises KeyboardInterrupt.
Context interruptible;
std::atomic<int> running{0};
thread_local int runs_here = 0;  // of these, those of this thread

struct sigaction of_python;

void interrupted(int number, siginfo_t* info, void* context) {
  if (running.load(std::memory_order_relaxed) > 0) interruptible.cancel();
  if ((of_python.sa_flags & SA_SIGINFO) != 0)
    of_python.sa_sigaction(number, info, context);
  else if (of_python.sa_handler != SIG_DFL && of_python.sa_handler != SIG_IGN)
    of_python.sa_handler(number);
}

// In front of Python's handler, where there is one: a program that wants SIGINT's default, or ignores it, keeps that.
void watch_interrupts() {
  struct sigaction now{};
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == interrupted;
  if (ours || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
  of_python = now;
  struct sigaction next = now;
  next.sa_flags |= SA_SIGINFO;
  next.sa_sigaction = interrupted;
  sigaction(SIGINT, &next, nullptr);
}

// --- handlers of other signals, which Python runs on the main thread between its own steps: while that thread is in
// native code, they have their turn where that attends ---

thread_local bool on_main_thread = ::getpid() == ::gettid();
// What a handler has raised while a program ran, of the main thread alone: it comes out in place of the program's
// results.
nb::python_error* raised = nullptr;

void attend() {
  if (!on_main_thread || runs_here == 0) return;
  interruptible.attended();
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return;
  delete std::exchange(raised, new nb::python_error());
  interruptible.cancel();
}

int raise_later(void*) { return restore_raised() ? -1 : 0; }

// A thread that asks what the main thread runs for attention, five times a second, once it has run for a fifth of one.
// It sleeps while nothing runs.
class Ticker {
 public:
  void begin_run() {
    begun_.fetch_add(1);
    busy_.store(true);
    if (state_.load() != awake) [[unlikely]]
      wake();
  }
  void end_run() { busy_.store(false, std::memory_order_relaxed); }
  // In the child of a fork the thread is not there.
  void begin_child() { state_.store(absent); }

 private:
  enum State : int { absent, asleep, awake };

  void wake() {
    if (state_.exchange(awake) == asleep) return state_.notify_one();
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { tick(); }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void tick() {
    for (;;) {
      const std::uint64_t before = begun_.load();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      if (begun_.load() != before) continue;
      if (busy_.load()) {
        interruptible.ask_for_attention();
        continue;
      }
      int state = awake;
      if (state_.compare_exchange_strong(state, asleep) && !busy_.load()) state_.wait(asleep);
      state_.store(awake);
    }
  }

  std::atomic<int> state_{absent};
  std::atomic<bool> busy_{false};
  std::atomic<std::uint64_t> begun_{0};
};
Ticker& ticker = *new Ticker();

// In the child of a fork nothing runs but what this thread does.
void begin_child() {
  running.store(runs_here, std::memory_order_relaxed);
  interruptible.reset();
  on_main_thread = true;
  ticker.begin_child();
}

// The compiler, with the interpreter free while it works.
class FreeingExecutor final : public Executor {
 public:
  explicit FreeingExecutor(Executor& next) : next_(next) {}
  std::vector<Value> run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                         std::span<const Value> inputs) override {
    return freed([&] { return next_.run(program, sizes, inputs); },
                 [&](std::span<const Value> results) { note_program(program, sizes, inputs, results); });
  }
  std::vector<Value> run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) override {
    return freed([&] { return next_.run_op(op, params, operands); },
                 [&](std::span<const Value> results) { note_op(op, params, operands, results); });
  }

 private:
  // `note` is given the results where they are looked through.
  template <class Run, class Note>
  static std::vector<Value> freed(Run&& run, Note&& note) {
    std::vector<Value> results = [&] {
      const NativeRun beside;
      return run();
    }();
    if (watching() && PyGILState_Check() != 0) [[unlikely]]
      note(results);
    return results;
  }

  Executor& next_;
};

}  // namespace

NativeRun::NativeRun() : state_(nullptr), context_(interruptible) {
  if (PyGILState_Check() == 0) return;
  if (running.fetch_add(1, std::memory_order_relaxed) == 0) interruptible.reset();
  if (runs_here++ == 0 && on_main_thread) ticker.begin_run();
  state_ = PyEval_SaveThread();
}

NativeRun::~NativeRun() {
  if (state_ == nullptr) return;
  PyEval_RestoreThread(state_);
  running.fetch_sub(1, std::memory_order_relaxed);
  if (--runs_here > 0 || !on_main_thread) return;
  ticker.end_run();
  // The program was done before it could be stopped.
  if (raised != nullptr && std::uncaught_exceptions() == 0) Py_AddPendingCall(raise_later, nullptr);
}

bool restore_raised() {
  if (raised == nullptr || !on_main_thread) return false;
  raised->restore();
  delete std::exchange(raised, nullptr);
  return true;
}

void add_executor(nb::module_& module) {
  static Executor* const before = install_executor(nullptr);
  static FreeingExecutor freeing(*before);
  install_executor(&freeing);
  watch_interrupts();
  Context::attend_by(attend);
  ::pthread_atfork(nullptr, nullptr, begin_child);
  module.def("watch_interrupts", watch_interrupts);
}

}  // namespace tenon::python
