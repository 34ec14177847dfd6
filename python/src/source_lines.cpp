#include "source_lines.h"

#include <nanobind/stl/string.h>

#include <string>
#include <unordered_set>

#include "tenon/base/generations.h"
#include "text.h"

namespace tenon::python {
namespace {

// What is asked of a code object again and again. Its names live as long as the process: Source points to them.
struct Code {
  nb::object held;  // so that no other code takes its address
  const char* file;
  const char* function;
  bool inside;  // of this package
};

struct Names {
  std::string package;  // the folder of this package, with a slash behind
  std::unordered_set<std::string> interned;
  Generations<PyCodeObject*, Code> codes{16'384};

  const char* intern(PyObject* text) {
    const char* utf8 = PyUnicode_AsUTF8(text);
    if (utf8 == nullptr) PyErr_Clear();
    return interned.emplace(utf8 == nullptr ? "?" : utf8).first->c_str();
  }
};
Names& names() {  // never destroyed: errors may be made while the process ends
  static auto* names = new Names();
  return *names;
}

Code known(PyCodeObject* code) {
  Names& all = names();
  if (const Code* found = all.codes.find(code)) return *found;
  const char* file = all.intern(code->co_filename);
  const bool inside = !all.package.empty() && std::string_view(file).starts_with(all.package);
  const Code made{nb::borrow(reinterpret_cast<PyObject*>(code)), file, all.intern(code->co_name), inside};
  const auto gone = all.codes.insert(code, made);
  return made;
}

}  // namespace

Source user_line() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* const at = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const nb::object held = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    const Code code = known(reinterpret_cast<PyCodeObject*>(held.ptr()));
    if (!code.inside) {
      Source source;
      source.file = code.file;
      source.function = code.function;
      source.line = static_cast<unsigned>(PyFrame_GetLineNumber(at));
      return source;
    }
    frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  return {};
}

Source first_line(nb::handle object, bool& within) {
  auto* const at = reinterpret_cast<PyCodeObject*>(object.ptr());
  const Code code = known(at);
  within = code.inside;
  Source source;
  source.file = code.file;
  source.function = code.function;
  source.line = static_cast<unsigned>(at->co_firstlineno);
  return source;
}

void add_source_lines(nb::module_& module) {
  const nb::module_ package = nb::module_::import_("tenon.errors");
  std::string file = str_of(nb::object(package.attr("__file__")));
  names().package = file.substr(0, file.rfind('/') + 1);
  module.def("user_line", [] { return user_line().text(); }, "The line of the caller outside of this package.");
}

}  // namespace tenon::python
