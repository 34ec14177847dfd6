// Rules of the user's, and strict numerics: what jit and derivatives rewrite functions by.
#include "tenon/api/rewrites.h"

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "errors.h"
#include "jit_entries.h"
#include "operands.h"
#include "rewrites.h"
#include "rooms.h"
#include "tenon/api/numerics.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon::python {
namespace {

// What a with-statement enters when it is made, and leaves by close(), in the order of such statements.
template <class T>
struct Scoped {
  template <class... Args>
  explicit Scoped(Args&&... args) : held(std::make_unique<T>(std::forward<Args>(args)...)) {}
  void close() { held.reset(); }
  std::unique_ptr<T> held;
};

constexpr Exactness exactnesses[]{Exactness::exact, Exactness::reassociates, Exactness::assumes_finite,
                                  Exactness::avoids_overflow};

Exactness exactness_of(const std::string& text) {
  for (const Exactness e : exactnesses)
    if (name(e) == text) return e;
  throw RewriteError(fmt::format("rule: there is no exactness {}.", text),
                     "It is exact, reassociates, assumes_finite or avoids_overflow.");
}

Phase phase_of(const std::string& text) {
  if (text == "both") return Phase::both;
  if (text == "before_differentiation") return Phase::before_differentiation;
  if (text == "after_differentiation") return Phase::after_differentiation;
  throw RewriteError(fmt::format("rule: there is no phase {}.", text),
                     "It is both, before_differentiation or after_differentiation.");
}

// A function of Python's at arrays. `tried`: what it does not take is one of the library's errors.
nb::object called(const nb::object& f, std::size_t holes, const auto& arrays, bool tried) {
  const nb::object args = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(holes)));
  for (std::size_t i = 0; i < holes; ++i)
    PyTuple_SET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i), new_array(arrays[i]));
  PyObject* made = PyObject_CallObject(f.ptr(), args.ptr());
  if (made != nullptr) return nb::steal(made);
  nb::python_error error;
  const bool refused = error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError) ||
                       error.matches(PyExc_IndexError) || error.matches(PyExc_NotImplementedError);
  if (tried && refused) throw ShapeError(nb::cast<std::string>(nb::str(error.value())));
  throw error;
}

PyRule make_rule(const std::string& name, const std::string& exactness, nb::object pattern, nb::object guard,
                 nb::object replacement, const std::string& phase, std::size_t holes) {
  Rule rule{.name = name, .exactness = exactness_of(exactness), .phase = phase_of(phase), .holes = holes};
  rule.where = user_line();
  const SourceScope place(rule.where, "rule");
  // Rules live as long as functions that were compiled with them.
  const auto kept = [](nb::object f) {
    return std::shared_ptr<nb::object>(new nb::object(std::move(f)), [](nb::object* held) {
      if (Py_IsInitialized() == 0) return;
      const nb::gil_scoped_acquire interpreter;
      delete held;
    });
  };
  rule.pattern = [f = kept(std::move(pattern)), holes](std::span<const Array> x) {
    return operand("rule", called(*f, holes, x, true));
  };
  rule.replacement = [f = kept(std::move(replacement)), holes](const Match& m) -> MaybeArray {
    return operand("rule", called(*f, holes, m, true));
  };
  if (!guard.is_none())
    rule.guard = [f = kept(std::move(guard)), holes, name, where = rule.where](const Match& m) {
      const nb::object holds = called(*f, holes, m, false);
      if (holds.is_none())
        throw RewriteError(fmt::format("rule \"{}\": when() gave None.", name), "Return whether the rule holds.",
                           where);
      return nb::cast<bool>(nb::bool_(holds));
    };
  return {api_detail::checked_rule(std::move(rule))};
}

}  // namespace

std::vector<RuleRef> rules_of(nb::handle rules) {
  std::vector<RuleRef> all;
  if (!nb::hasattr(rules, "__iter__"))
    throw_option_error(fmt::format("rewrites: {} is not a list of rules.", nb::cast<std::string>(nb::repr(rules))));
  for (nb::handle rule : nb::iter(rules)) {
    if (!nb::isinstance<PyRule>(rule))
      throw_option_error(fmt::format("rewrites: {} is no rule. Make one with tenon.rule(...).",
                                     nb::cast<std::string>(nb::repr(rule))));
    all.push_back(nb::cast<PyRule&>(rule).rule);
  }
  return all;
}

void add_rewrites(nb::module_& module) {
  nb::class_<PyRule>(module, "Rule")
      .def_prop_ro("name", [](const PyRule& r) { return r.rule->name; })
      .def_prop_ro("exactness", [](const PyRule& r) { return std::string(name(r.rule->exactness)); })
      .def("__repr__",
           [](const PyRule& r) { return fmt::format("Rule(\"{}\", {})", r.rule->name, name(r.rule->exactness)); });
  module.def("rule", make_rule, nb::arg("name"), nb::arg("exactness"), nb::arg("pattern"), nb::arg("guard").none(),
             nb::arg("replacement"), nb::arg("phase"), nb::arg("holes"));
  module.def("verify_rule", [](const PyRule& r, int cases, std::uint64_t seed, bool derivatives) {
    const SourceScope place(user_line(), "verify");
    return verify(r.rule, {.cases = cases, .seed = seed, .derivatives = derivatives}).cases;
  });
  module.def("library_rule", [](const std::string& name) { return PyRule{library_rule(name)}; });
  module.def("list_rules", list_rules);
  nb::class_<Scoped<Rewrites>>(module, "RewritesScope")
      .def("__init__", [](Scoped<Rewrites>* scope, nb::handle rules) { new (scope) Scoped<Rewrites>(rules_of(rules)); })
      .def("close", &Scoped<Rewrites>::close);
  nb::class_<Scoped<StrictNumerics>>(module, "StrictScope")
      .def(nb::init<>())
      .def("close", &Scoped<StrictNumerics>::close);
}

}  // namespace tenon::python
