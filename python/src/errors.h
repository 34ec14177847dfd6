// Errors of the library as Python's exceptions, and Python's exceptions through the library unchanged.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "tenon/base/error.h"

namespace tenon::python {

namespace nb = nanobind;

// Sets Python's error to what is being caught. Call it in a catch block.
void raise_caught() noexcept;

// The value of a traced array was asked for by Python: as a truth value, as NumPy's array, as an integer. JAX has a
// kind for each.
class TracerBoolConversionError : public ConcretizationError {
 public:
  using ConcretizationError::ConcretizationError;
};
class TracerArrayConversionError : public ConcretizationError {
 public:
  using ConcretizationError::ConcretizationError;
};
class TracerIntegerConversionError : public ConcretizationError {
 public:
  using ConcretizationError::ConcretizationError;
};

// f(), with that kind in place of what says that a value is not known.
template <class As, class F>
decltype(auto) asked_as(F&& f) {
  try {
    return f();
  } catch (const ConcretizationError& e) {
    throw As(e.asked(), e.advice(), e.where());
  }
}

// OptionError, of the user's line: an option has a value that it cannot have.
[[noreturn]] void throw_option_error(const std::string& text);

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
