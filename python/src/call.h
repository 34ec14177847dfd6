// How a bound function runs what it does: under the user's line, where that is recorded.
#pragma once

#include <nanobind/nanobind.h>

#include <type_traits>

#include "dtypes.h"
#include "source_lines.h"
#include "tenon/base/library_call.h"
#include "tenon/base/stack.h"
#include "tenon/ir/scope.h"
#include "tenon/ops/elementwise/convert.h"

namespace tenon::python {

// What a function of numbers alone makes of these and of its own, which are 64 bits wide: as the present mode has it.
inline Array in_mode(Array made) {
  if (x64_enabled || made.empty() || !made.weak() || made.dtype() == canonical(made.dtype())) return made;
  return convert(Operand(made, Source()), canonical(made.dtype())).with_weak(true);
}

// f() of a function that makes arrays of arrays. Inside a trace its eqns are attributed to the user's line. Outside,
// they run (executor.h), and the line is found where something is wrong (errors.cpp): to look for it costs more than a
// small op.
template <class F>
decltype(auto) call_op(const char* name, F&& f) {
  const LibraryCall place(Scope::top() != nullptr ? user_line() : Source(), name);
  if constexpr (std::is_same_v<std::invoke_result_t<F>, Array>)
    return in_mode(f());
  else
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
