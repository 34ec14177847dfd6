#include "traced_forms.h"

#include <fmt/format.h>

#include "source_lines.h"
#include "text.h"

namespace tenon::python::jitted {
namespace {

using api_detail::TracedForm;

nb::handle wrapped_name() {
  static PyObject* const name = PyUnicode_InternFromString("__wrapped__");
  return name;
}

// Text that code of the user's makes.
template <class Text>
std::string asked_for(const Text& text) {
  try {
    return text();
  } catch (nb::python_error&) {
    return "?";
  }
}

nb::object attribute(nb::handle object, const char* name) {
  PyObject* found = PyObject_GetAttrString(object.ptr(), name);
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

// The code of what a function wraps in the end, and how many of its parameters are given by what is between.
struct Code {
  nb::object code;
  std::size_t given = 0;
};
Code code_of(nb::object f) {
  Code found;
  for (int depth = 0; f && depth < 100; ++depth) {
    if (PyFunction_Check(f.ptr()) && !PyDict_Contains(nb::object(f.attr("__dict__")).ptr(), wrapped_name().ptr()))
      break;
    if (nb::object inner = attribute(f, "__wrapped__")) {
      f = std::move(inner);
    } else if (nb::object partial = attribute(f, "func")) {
      if (const nb::object args = attribute(f, "args"); args && PyTuple_Check(args.ptr())) found.given += nb::len(args);
      f = std::move(partial);
    } else {
      break;
    }
  }
  if (!f) return found;
  const bool is_method = PyMethod_Check(f.ptr());
  nb::object code = attribute(f, "__code__");
  if (is_method) ++found.given;
  if (!code) {
    const nb::object call = attribute(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(f.ptr()))), "__call__");
    if (call) code = attribute(call, "__code__");
    if (code) ++found.given;
  }
  if (code && PyCode_Check(code.ptr())) found.code = std::move(code);
  return found;
}

// "argument x", "static argument n"
std::string argument_text(const CallForm& form, std::size_t slot, const Label& label) {
  const CallForm::Slot& s = form.slots[slot];
  return fmt::format("{}argument {}", s.is_static ? "static " : "",
                     s.keyword ? str_of(s.keyword) : label.parameter(slot));
}

TracedForm form_of(const Flattened& flat, const Label& label) {
  TracedForm all;
  const CallForm& form = flat.form;
  std::size_t tree = 0;
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    const CallForm::Slot& s = form.slots[i];
    const std::string argument = argument_text(form, i, label);
    if (s.is_static)
      all.fixed.push_back({argument, asked_for([&] { return repr_of(s.value); })});
    else
      all.fixed.push_back(
          {argument + ", structure", asked_for([&] { return form.trees->child(tree++)->text(); }), true});
  }
  for (std::size_t i = 0; i < form.references.size(); ++i)
    all.fixed.push_back({fmt::format("reference {}", i), form.references[i].text()});
  all.fixed.push_back({"64-bit types", form.x64 ? "on" : "off"});
  std::string axes;
  for (const auto& [name, size] : form.axes)
    axes += fmt::format("{}{}: {}", axes.empty() ? "" : ", ", name, size.text());
  all.fixed.push_back({"named axes", axes.empty() ? "none" : axes});
  for (const Array& leaf : flat.leaves) all.leaves.emplace_back(leaf);
  return all;
}

void warn(const std::string& text) {
  const nb::object kind = nb::module_::import_("tenon.errors").attr("RetraceWarning");
  if (PyErr_WarnEx(kind.ptr(), text.c_str(), 1) != 0) throw nb::python_error();
}

}  // namespace

std::string Label::parameter(std::size_t i) const {
  if (i < parameters.size()) return parameters[i];
  return rest.empty() ? std::to_string(i) : fmt::format("{}[{}]", rest, i - parameters.size());
}

Label label_of(nb::handle f, const std::string& name) {
  Label label{{name, {}}};
  const Code found = code_of(nb::borrow(f));
  if (!found.code) return label;
  const nb::object& code = found.code;
  label.name.where = first_line(code, label.of_package);
  const auto* const at = reinterpret_cast<PyCodeObject*>(code.ptr());
  const nb::object names = code.attr("co_varnames");
  const auto count = static_cast<std::size_t>(at->co_argcount);
  for (std::size_t i = found.given; i < count; ++i) label.parameters.push_back(str_of(names[i]));
  if ((at->co_flags & CO_VARARGS) != 0)
    label.rest = str_of(names[count + static_cast<std::size_t>(at->co_kwonlyargcount)]);
  return label;
}

std::vector<std::string> leaf_names(const CallForm& form, const Label& label) {
  std::vector<std::string> all;
  std::size_t tree = 0;
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    if (form.slots[i].is_static) continue;
    const std::string argument = argument_text(form, i, label);
    for (const std::string& name : form.trees->child(tree++)->names()) all.push_back(argument + name);
  }
  return all;
}

void note_trace(State& s, const Flattened& flat) {
  const Label& label = s.label();
  if (label.of_package) return;
  if (s.notes.traces() == 0)
    if (const auto text = api_detail::note_new_function(label.name, flat.hash)) warn(*text);
  const auto names = [&] { return leaf_names(flat.form, label); };
  if (const auto text = s.notes.note(label.name, form_of(flat, label), names)) warn(*text);
}

}  // namespace tenon::python::jitted
