// Errors of the library as Python's exceptions, and Python's exceptions through the library unchanged.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

namespace nb = nanobind;

// Sets Python's error to what is being caught. Call it in a catch block.
void raise_caught() noexcept;

// f() in a slot of a type: what it throws becomes Python's error, and `failure` is returned.
template <class F, class Result = PyObject*>
Result guarded(F&& f, Result failure = nullptr) noexcept {
  try {
    return f();
  } catch (...) {
    raise_caught();
    return failure;
  }
}

void add_errors(nb::module_& module);

}  // namespace tenon::python
