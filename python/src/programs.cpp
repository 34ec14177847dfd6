// Programs as values: seen as text, called, read again; and what reverse mode keeps.
#include "programs.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>

#include "call.h"
#include "dtypes.h"
#include "functions.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/residuals.h"
#include "tenon/ir/parse.h"
#include "tenon/ir/print.h"
#include "tenon/ops/control/host.h"

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

// --- Programs that leave the process: tenon.export ---

// A function traced at given arguments: for so many derivatives in all of them, where rules of the user's are in it.
struct Exported {
  ProgramRef program;
  Arrays captures;
  std::vector<bool> weak;
  TreeRef result;
  bool has_rules;  // the trace depends on how many derivatives are ahead
};

Exported export_program(nb::object f, nb::tuple args, nb::dict kwargs, std::uint32_t derivatives) {
  return call_transformation("export", [&] {
    const std::vector<std::size_t> all = every_argument(args);
    FlatCall call("export", std::move(f), std::move(args), std::move(kwargs), all, true);
    for (std::size_t i = 0; i < call.arguments(); ++i) refuse_references("export", "an argument", call.argument(i));
    const CompileTime alone;  // where a trace is open, its arrays are none of what leaves the process
    TracedFor what_for = TracedFor::call(call.leaves());
    what_for.ahead.derivatives = derivatives;
    for (TakesPart& part : what_for.inputs) part = TakesPart::in(what_for.ahead);
    const std::uint64_t asked = asked_what_for();
    const TracedFunction traced = trace_flat(call, call.leaves(), "export", false, what_for);
    const bool has_rules = asked != asked_what_for();
    for (const std::vector<Type>& types : {traced.program->input_types(), traced.program->output_types()})
      for (const Type& t : types)
        if (!t.is_array())
          throw UnsupportedError(fmt::format("export: {} is not an array.", t.text()), "Stack lists first.");
    return Exported{traced.program, traced.captures, traced.weak, call.result(), has_rules};
  });
}

// The first function of Python's that a Program calls, which cannot leave the process; or an empty text.
std::string host_function_of(const PyProgram& p) {
  const Eqn* eqn = find_eqn(*p.program, [](const Eqn& e) { return is_host_call(*e.op); });
  if (eqn == nullptr) return "";
  return eqn->where.known() ? "at " + eqn->where.text() : "somewhere in it";
}

// A call of a Program, whose inputs are these arrays: recorded where a trace is open, else it runs.
nb::list call_program(const PyProgram& p, nb::handle inputs, const std::vector<bool>& weak) {
  return call_transformation("export", [&] {
    Arrays operands;
    for (nb::handle each : nb::iter(inputs)) operands.push_back(operand("export", each));
    const std::vector<Type> wanted = p.program->input_types();
    if (wanted.size() != operands.size() || weak.size() != p.program->outputs().size() ||
        !p.program->size_params().empty())
      throw TreeError("export: the Program takes other inputs.", "");
    for (std::size_t i = 0; i < wanted.size(); ++i)
      operands[i] = api_detail::fitted(operands[i], wanted[i], "export", [&] { return fmt::format("input {}", i); });
    nb::list results;
    for (const Array& a : weakly_typed(run_or_call(p.program, {}, operands), weak)) results.append(array_object(a));
    return results;
  });
}

// How many derivatives will be taken in these arrays, as far as the traces that are open know.
std::size_t derivatives_ahead(nb::handle inputs) {
  ++asked_what_for();
  Arrays arrays;
  for (nb::handle each : nb::iter(inputs)) arrays.push_back(operand("export", each));
  return static_cast<std::size_t>(std::popcount(Scope::any_takes_part(arrays).derivatives));
}

// (shape, dtype, …) of types, by leaf(shape, dtype).
nb::list array_types(std::span<const Type> all, nb::handle leaf) {
  nb::list made;
  for (const Type& t : all) {
    if (!t.is_array()) throw UnsupportedError(fmt::format("export: {} is not an array.", t.text()), "");
    made.append(leaf(shape_object(t.shape), numpy_dtype(t.dtype)));
  }
  return made;
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
      .def("input_arrays",
           [](const PyProgram& p, nb::handle leaf) { return array_types(p.program->input_types(), leaf); })
      .def("output_arrays",
           [](const PyProgram& p, nb::handle leaf) { return array_types(p.program->output_types(), leaf); })
      .def("__len__", [](const PyProgram& p) { return p.program->eqns().size(); })
      .def("__eq__",
           [](const PyProgram& a, nb::handle b) {
             return nb::isinstance<PyProgram>(b) && a.program->hash() == nb::cast<const PyProgram&>(b).program->hash();
           })
      .def("__hash__", [](const PyProgram& p) { return static_cast<std::int64_t>(p.program->hash().low >> 1); });
  module.def("make_program", make_program);
  nb::class_<Exported>(module, "ExportedProgram", "A Program with what it has captured.")
      .def_prop_ro("program", [](const Exported& e) { return PyProgram{e.program}; })
      .def_prop_ro("captures",
                   [](const Exported& e) {
                     nb::list all;
                     for (const Array& a : e.captures) all.append(array_object(a));
                     return all;
                   })
      .def_prop_ro("weak", [](const Exported& e) { return e.weak; })
      .def_prop_ro("result", [](const Exported& e) { return treedef_object(e.result); })
      .def_ro("has_rules", &Exported::has_rules);
  module.def("export_program", export_program);
  module.def("host_function_of", host_function_of);
  module.def("call_program", call_program);
  module.def("derivatives_ahead", derivatives_ahead);
  module.def("parse_program",
             [](const std::string& text, const std::string& file) { return PyProgram{parse(text, file)}; });
  module.def("saved_residuals", residuals);
}

}  // namespace tenon::python
