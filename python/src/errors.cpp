#include "errors.h"

#include <nanobind/stl/string.h>

#include <array>
#include <string>

#include "executor.h"
#include "finite.h"
#include "source_lines.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/custom.h"

namespace tenon::python {
namespace {

// The classes are Python's own (tenon/errors.py): users catch them, and they have docstrings and further bases.
struct Kind {
  const char* name;
  bool (*is)(const Error&);
  PyObject* type = nullptr;
};
template <class T>
constexpr bool is(const Error& e) {
  if constexpr (std::is_same_v<T, Error>)
    return true;
  else
    return dynamic_cast<const T*>(&e) != nullptr;
}
template <class T>
constexpr Kind kind(const char* name) {
  return {name, is<T>};
}
std::array kinds{kind<MaskError>("NonConcreteBooleanIndexError"),
                 kind<ShapeError>("ShapeError"),
                 kind<DTypeError>("DTypeError"),
                 kind<TreeError>("TreeError"),
                 kind<TracerBoolConversionError>("TracerBoolConversionError"),
                 kind<TracerArrayConversionError>("TracerArrayConversionError"),
                 kind<TracerIntegerConversionError>("TracerIntegerConversionError"),
                 kind<ConcretizationError>("ConcretizationError"),
                 kind<LeakError>("LeakError"),
                 kind<CaptureError>("CaptureError"),
                 kind<DifferentiationError>("DifferentiationError"),
                 kind<ParseError>("ParseError"),
                 kind<VerifyError>("VerifyError"),
                 kind<CompileError>("CompileError"),
                 kind<RewriteError>("RewriteError"),
                 kind<RuntimeError>("RuntimeError"),
                 kind<MemoryError>("MemoryError"),
                 kind<CancelledError>("CancelledError"),
                 kind<NonFiniteError>("NonFiniteError"),
                 kind<NestingError>("NestingError"),
                 kind<UnsupportedError>("UnsupportedError"),
                 kind<Error>("Error")};

// What the library's advice says in C++ and Python says otherwise.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> spellings{{
    {"grad<1>(f)", "grad(f, argnums=1)"},
    {"with tn::has_aux", "with has_aux=True"},
    {"tn::has_aux", "has_aux=True"},
    {"tn::none", "None"},
    {"tn::", "tn."},
    {"random::", "random."},
    {"x(…)", "x[…]"},
    {"{.length = n}", "length=n"},
    {"DType::", "dtype "},
    {"std::pair", "a tuple of two"},
}};

// Eager ops do not look for the user's line, which costs more than they do: it is found when something is wrong.
void raise(const Error& error) {
  for (const Kind& kind : kinds) {
    if (!kind.is(error)) continue;
    std::string text = error.what();
    for (const Kind& named : kinds)  // Python shows the kind
      if (const std::string prefix = std::string(named.name) + ": "; text.starts_with(prefix)) {
        text.erase(0, prefix.size());
        break;
      }
    for (const auto& [cpp, python] : spellings)
      for (std::size_t at = 0; (at = text.find(cpp, at)) != std::string::npos; at += python.size())
        text.replace(at, cpp.size(), python);
    if (!error.where().known())
      if (const Source line = user_line(); line.known()) {
        const std::size_t at = text.find('\n');
        text.insert(at == std::string::npos ? text.size() : at, "\n  at " + line.text());
      }
    // A signal has stopped it: what Python's handler raises says so.
    if (dynamic_cast<const CancelledError*>(&error) != nullptr && (restore_raised() || PyErr_CheckSignals() != 0))
      return;
    PyErr_SetString(kind.type, text.c_str());
    return;
  }
}

}  // namespace

void throw_option_error(const std::string& text) {
  // Made at once, where the user's frame is: Python makes exceptions that are set by class and text later.
  const nb::object type = nb::module_::import_("tenon.errors").attr("OptionError"), error = type(text);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

void raise_caught() noexcept {
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const Error& e) {
    raise(e);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_SystemError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "tenon: an exception of an unknown kind");
  }
}

void add_errors(nb::module_& module) {
  const nb::module_ classes = nb::module_::import_("tenon.errors");
  module.attr("OptionError") = classes.attr("OptionError");  // by which the package raises it
  for (Kind& kind : kinds) kind.type = nb::object(classes.attr(kind.name)).release().ptr();
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      raise(e);
    }
  });
}

}  // namespace tenon::python
