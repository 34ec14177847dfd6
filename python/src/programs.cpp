// Seeing inside: Programs as text, and what reverse mode keeps.
#include "programs.h"

#include <nanobind/stl/string.h>

#include "call.h"
#include "functions.h"
#include "rooms.h"
#include "tenon/api/residuals.h"
#include "tenon/ir/print.h"

namespace tenon::python {
namespace {

// With `rules`, rules of the user's are in it, for one derivative.
PyProgram make_program(nb::object f, nb::tuple args, nb::dict kwargs, bool rules) {
  return call_transformation("make_program", [&] {
    const std::vector<std::size_t> all = every_argument(args);
    FlatCall call("make_program", std::move(f), std::move(args), std::move(kwargs), all, true);
    const std::vector<bool> taken(call.leaves().size(), rules);
    const TracedFor what_for = rules ? TracedFor::derivative(call.leaves(), taken) : TracedFor::call(call.leaves());
    return PyProgram{trace_flat(call, call.leaves(), writes_refs, false, what_for).program};
  });
}

std::string residuals(nb::object f, nb::tuple args, nb::dict kwargs, bool details) {
  return call_transformation("saved_residuals", [&] {
    const std::vector<std::size_t> all = every_argument(args);
    FlatCall call("saved_residuals", std::move(f), std::move(args), std::move(kwargs), all, true);
    const SavedResiduals saved = api_detail::saved_residuals_flat(call, call.all());
    return details ? saved.details() : saved.text();
  });
}

nb::object types(std::span<const Type> all) {
  nb::list texts;
  for (const Type& t : all) texts.append(t.text());
  return nb::tuple(texts);
}

}  // namespace

void add_programs(nb::module_& module) {
  nb::class_<PyProgram>(module, "Program", "What a function is once it has been traced: a closed list of equations.")
      .def("__repr__", [](const PyProgram& p) { return print(*p.program); })
      .def(
          "text", [](const PyProgram& p, bool lines) { return print(*p.program, {.places = lines}); },
          nb::arg("lines") = false, "The Program as text; with `lines`, the user's line behind each equation.")
      .def_prop_ro("inputs", [](const PyProgram& p) { return types(p.program->input_types()); })
      .def_prop_ro("outputs", [](const PyProgram& p) { return types(p.program->output_types()); })
      .def("__len__", [](const PyProgram& p) { return p.program->eqns().size(); })
      .def("__eq__",
           [](const PyProgram& a, nb::handle b) {
             return nb::isinstance<PyProgram>(b) && a.program->hash() == nb::cast<const PyProgram&>(b).program->hash();
           })
      .def("__hash__", [](const PyProgram& p) { return static_cast<std::int64_t>(p.program->hash().low >> 1); });
  module.def("make_program", make_program);
  module.def("saved_residuals", residuals);
}

}  // namespace tenon::python
