// Native code beside Python: the interpreter is free while it runs, Ctrl-C stops it, and on the main thread handlers of
// other signals have their turn while it runs.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tenon/runtime/context.h"

namespace tenon::python {

namespace nb = nanobind;

// While it lives, other threads of Python's run, and SIGINT cancels what this thread runs. Where the interpreter is not
// held, nothing changes.
class NativeRun {
 public:
  NativeRun();
  ~NativeRun();
  NativeRun(const NativeRun&) = delete;
  NativeRun& operator=(const NativeRun&) = delete;

 private:
  PyThreadState* state_;
  ContextScope context_;
};

// Where a signal's handler has raised something while a program of this thread ran: that is Python's error again.
bool restore_raised();

}  // namespace tenon::python
