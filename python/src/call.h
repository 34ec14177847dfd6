// How a bound function runs what it does: under the user's line, where that is recorded.
#pragma once

#include <nanobind/nanobind.h>

#include "source_lines.h"
#include "tenon/base/stack.h"
#include "tenon/ir/scope.h"

namespace tenon::python {

// f() of a function that makes arrays of arrays. Inside a trace its eqns are attributed to the user's line. Outside,
// they run (executor.h), and the line is found where something is wrong: to look for it costs more than a small op.
template <class F>
decltype(auto) call_op(const char* name, F&& f) {
  if (Scope::top() != nullptr) {
    const SourceScope place(user_line(), name);
    return f();
  }
  return f();
}

// The same of a transformation, which calls the user's functions: always under the line.
template <class F>
decltype(auto) call_transformation(const char* name, F&& f) {
  require_stack();
  const SourceScope place(user_line(), name);
  return f();
}

}  // namespace tenon::python
