#include "traced_forms.h"

#include <fmt/format.h>

#include "source_lines.h"
#include "text.h"

namespace tenon::python::jitted {
namespace {

using api_detail::TracedForm;

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

// The code of what a function wraps in the end.
nb::object code_of(nb::object f) {
  for (int depth = 0; f && depth < 100; ++depth) {
    if (nb::object inner = attribute(f, "__wrapped__")) {
      f = std::move(inner);
    } else if (nb::object partial = attribute(f, "func")) {
      f = std::move(partial);
    } else {
      break;
    }
  }
  if (!f) return f;
  nb::object code = attribute(f, "__code__");
  if (!code)
    if (const nb::object call = attribute(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(f.ptr()))), "__call__"))
      code = attribute(call, "__code__");
  return code && PyCode_Check(code.ptr()) ? code : nb::object();
}

// Names of a function's positional parameters, where its signature tells.
class Parameters {
 public:
  explicit Parameters(nb::handle f) {
    try {
      const nb::object signature = nb::module_::import_("inspect").attr("signature")(f);
      for (nb::handle p : nb::iter(nb::object(signature.attr("parameters").attr("values")()))) {
        const int kind = nb::cast<int>(nb::object(nb::module_::import_("builtins").attr("int")(p.attr("kind"))));
        if (kind <= 1) names_.push_back(str_of(nb::object(p.attr("name"))));
        if (kind == 2) rest_ = str_of(nb::object(p.attr("name")));
      }
    } catch (nb::python_error&) {
      names_.clear();
    }
  }
  std::string operator()(std::size_t i) const {
    if (i < names_.size()) return names_[i];
    return rest_.empty() ? std::to_string(i) : fmt::format("{}[{}]", rest_, i - names_.size());
  }

 private:
  std::vector<std::string> names_;
  std::string rest_;
};

// "argument x", "static argument n"
std::string argument_text(const CallForm& form, std::size_t slot, const Parameters& parameters) {
  const CallForm::Slot& s = form.slots[slot];
  return fmt::format("{}argument {}", s.is_static ? "static " : "", s.keyword ? str_of(s.keyword) : parameters(slot));
}

TracedForm form_of(const Flattened& flat, const Parameters& parameters) {
  TracedForm all;
  const CallForm& form = flat.form;
  std::size_t tree = 0;
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    const CallForm::Slot& s = form.slots[i];
    const std::string argument = argument_text(form, i, parameters);
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

std::vector<std::string> leaf_names(const CallForm& form, const Parameters& parameters) {
  std::vector<std::string> all;
  std::size_t tree = 0;
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    if (form.slots[i].is_static) continue;
    const std::string argument = argument_text(form, i, parameters);
    for (const std::string& name : form.trees->child(tree++)->names()) all.push_back(argument + name);
  }
  return all;
}

void warn(const std::string& text) {
  const nb::object kind = nb::module_::import_("tenon.errors").attr("RetraceWarning");
  if (PyErr_WarnEx(kind.ptr(), text.c_str(), 1) != 0) throw nb::python_error();
}

}  // namespace

api_detail::FunctionName name_of(nb::handle f, const std::string& name, bool& within) {
  api_detail::FunctionName all{name, {}};
  if (const nb::object code = code_of(nb::borrow(f))) all.where = first_line(code, within);
  return all;
}

void note_trace(State& s, const Flattened& flat) {
  const api_detail::FunctionName& name = s.label();
  if (s.is_of_package) return;
  const Parameters parameters(s.f);
  if (s.notes.traces() == 0)
    if (const auto text = api_detail::note_new_function(name, flat.hash)) warn(*text);
  const auto names = [&] { return leaf_names(flat.form, parameters); };
  if (const auto text = s.notes.note(name, form_of(flat, parameters), names)) warn(*text);
}

}  // namespace tenon::python::jitted
