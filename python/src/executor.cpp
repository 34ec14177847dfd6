#include "executor.h"

#include <pthread.h>

#include <csignal>

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

// In the child of a fork nothing runs but what this thread does.
void begin_child() {
  running.store(runs_here, std::memory_order_relaxed);
  interruptible.reset();
}

// The compiler, with the interpreter free while it works.
class FreeingExecutor final : public Executor {
 public:
  explicit FreeingExecutor(Executor& next) : next_(next) {}
  std::vector<Value> run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                         std::span<const Value> inputs) override {
    const NativeRun run;
    return next_.run(program, sizes, inputs);
  }
  std::vector<Value> run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) override {
    const NativeRun run;
    return next_.run_op(op, params, operands);
  }

 private:
  Executor& next_;
};

}  // namespace

NativeRun::NativeRun() : state_(nullptr), context_(interruptible) {
  if (PyGILState_Check() == 0) return;
  if (running.fetch_add(1, std::memory_order_relaxed) == 0) interruptible.reset();
  ++runs_here;
  state_ = PyEval_SaveThread();
}

NativeRun::~NativeRun() {
  if (state_ == nullptr) return;
  PyEval_RestoreThread(state_);
  running.fetch_sub(1, std::memory_order_relaxed);
  --runs_here;
}

void add_executor(nb::module_& module) {
  static Executor* const before = install_executor(nullptr);
  static FreeingExecutor freeing(*before);
  install_executor(&freeing);
  watch_interrupts();
  ::pthread_atfork(nullptr, nullptr, begin_child);
  module.def("watch_interrupts", watch_interrupts);
}

}  // namespace tenon::python
