// Functions with rules of the user's own, for derivatives and for batches; and what reverse mode computes again.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "call.h"
#include "dtypes.h"
#include "functions.h"
#include "op.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/custom.h"
#include "tenon/api/hoisting.h"
#include "tenon/api/placement.h"
#include "tenon/ir/scope.h"
#include "tenon/ops/control/custom.h"
#include "tenon/ops/elementwise/convert.h"

namespace tenon::python {
namespace {

nb::object custom_jvp(nb::object f, nb::handle rule, nb::tuple args) {
  return call_transformation("custom_jvp", [&] {
    FlatCall call("custom_jvp", std::move(f), args, nb::dict(), every_argument(args), false);
    const TreeRef primals = tuple_of_arguments(call);
    const std::vector<Type> in = types(call.leaves());
    const auto by_rule = [&](std::span<const Array> given) {
      const std::size_t n = primals->leaves();
      const nb::object both =
          rule(unflatten_arrays(*primals, given.first(n)), unflatten_tangents(*primals, given.subspan(n), in));
      const auto [value, tangent] = pair_of("custom_jvp", "the rule returns", "(result, tangent)", both);
      FlatTree out = flat_arrays("custom_jvp", "the rule's result", value);
      FlatTree slope = flat_tangents("custom_jvp", "the rule's tangent", tangent);
      require_same_tree("custom_jvp", "the function's and the rule's results", *call.result(), *out.tree);
      require_same_tree("custom_jvp", "the rule's result and its tangent", *out.tree, *slope.tree);
      out.leaves.insert(out.leaves.end(), slope.leaves.begin(), slope.leaves.end());
      return out.leaves;
    };
    const Arrays results = api_detail::custom_jvp_flat(call, by_rule, call.leaves());
    return unflatten_arrays(*call.result(), results);
  });
}

// A cotangent in the precision of what it is the cotangent of, as JAX takes it.
Array in_precision_of(const Array& x, const Array& cotangent) {
  if (cotangent.empty() || !x.type().is_array() || !cotangent.type().is_array()) return cotangent;
  const DType from = cotangent.dtype(), to = x.dtype();
  const bool both_real = is_inexact(from) && !is_complex(from) && is_inexact(to) && !is_complex(to);
  const bool both_complex = is_complex(from) && is_complex(to);
  return from != to && (both_real || both_complex) ? convert(op(cotangent), to) : cotangent;
}

// Cotangents for all leaves of the arguments; None stands for zero.
Arrays cotangents_from(nb::handle given, const FlatCall& call) {
  nb::object tuple = nb::borrow<nb::object>(given);
  if (PyList_Check(tuple.ptr())) tuple = nb::tuple(tuple);
  if (!PyTuple_Check(tuple.ptr()) || static_cast<std::size_t>(PyTuple_GET_SIZE(tuple.ptr())) != call.arguments()) {
    PyErr_Format(PyExc_TypeError,
                 "custom_vjp: backward returns a tuple with a cotangent for each of the %zu arguments.",
                 call.arguments());
    throw nb::python_error();
  }
  Arrays all;
  for (std::size_t i = 0; i < call.arguments(); ++i) {
    const nb::handle each(PyTuple_GET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i)));
    if (each.is_none()) {
      all.resize(all.size() + call.argument(i).leaves());
      continue;
    }
    const FlatTree flat = flat_tangents("custom_vjp", "backward's cotangent", each);
    require_same_tree("custom_vjp", "an argument and backward's cotangent of it", call.argument(i), *flat.tree);
    for (const Array& a : flat.leaves) all.push_back(in_precision_of(call.leaves()[all.size()], a));
  }
  return all;
}

nb::object custom_vjp(nb::object f, nb::handle forward, nb::handle backward, nb::tuple args) {
  return call_transformation("custom_vjp", [&] {
    FlatCall call("custom_vjp", std::move(f), args, nb::dict(), every_argument(args), false);
    FlatCall forwarded("custom_vjp", nb::borrow<nb::object>(forward), args, nb::dict(), every_argument(args), false);
    forwarded.returns_pair();
    const auto go = [&](std::span<const Array> in) {
      Arrays out = forwarded(in);
      require_same_tree("custom_vjp", "the function's and forward's results", *call.result(),
                        *forwarded.first_of_pair());
      return out;
    };
    const auto back = [&](std::span<const Array> in) {
      const std::size_t outs = call.result()->leaves();
      const nb::object cotangents = backward(unflatten_arrays(*forwarded.second_of_pair(), in.first(in.size() - outs)),
                                             unflatten_tangents(*call.result(), in.last(outs), call.result_types()));
      return cotangents_from(cotangents, call);
    };
    const Arrays results = api_detail::custom_vjp_flat(call, go, back, call.leaves(), call.paths());
    return unflatten_arrays(*call.result(), results);
  });
}

// Which leaves of the arguments may have a tangent in some derivative that is being taken.
nb::list perturbed(nb::tuple args) {
  return call_transformation("custom rules", [&] {
    nb::list all;
    for (const Array& a : flat_arrays("a function with a rule", "an argument", args).leaves)
      all.append(nb::bool_(Scope::takes_part(a).derivatives != 0));
    return all;
  });
}

// A function that was traced once, behind which stand arrays that it had captured.
struct Converted {
  TracedFunction f;
  std::vector<std::size_t> hoisted;  // of the captures
  TreeRef in, out;
};

nb::object call_converted(const Converted& c, nb::args args) {
  return call_transformation("closure_convert", [&] {
    const std::size_t own = args.size() - std::min(args.size(), c.hoisted.size());
    nb::tuple arguments = nb::steal<nb::tuple>(PyTuple_GetSlice(args.ptr(), 0, static_cast<Py_ssize_t>(own)));
    FlatTree given = flat_arrays("closure_convert", "an argument", arguments);
    if (!(*given.tree == *c.in)) {
      const std::string text = fmt::format(
          "closure_convert: the function is called with arguments {}, and was made for {}, with {} captured arrays "
          "behind "
          "them.",
          given.tree->text(), c.in->text(), c.hoisted.size());
      PyErr_SetString(PyExc_TypeError, text.c_str());
      throw nb::python_error();
    }
    TracedFunction f = c.f;
    for (std::size_t i = 0; i < c.hoisted.size(); ++i)
      f.captures[c.hoisted[i]] =
          flat_arrays("closure_convert", "a captured array", args[own + i]).leaves.at(0).with_weak(false);
    const std::vector<Type> wanted = f.program->input_types();
    for (std::size_t i = 0; i < given.leaves.size(); ++i)
      given.leaves[i] = api_detail::fitted(given.leaves[i], wanted[i], "closure_convert",
                                           [&] { return fmt::format("leaf {} of the arguments", i); });
    return unflatten_arrays(*c.out, tenon::apply(f, given.leaves));
  });
}

nb::object closure_convert(nb::object f, nb::tuple args) {
  return call_transformation("closure_convert", [&] {
    FlatCall call("closure_convert", std::move(f), args, nb::dict(), every_argument(args), false);
    // Rules that convert a function differentiate it themselves.
    const std::vector<bool> all(call.leaves().size(), true);
    TracedFunction traced =
        trace_flat(call, call.leaves(), "closure_convert", false, TracedFor::derivative(call.leaves(), all));
    Converted converted{std::move(traced), {}, tuple_of_arguments(call), call.result()};
    nb::list arrays;
    for (std::size_t i = 0; i < converted.f.captures.size(); ++i) {
      const Array& capture = converted.f.captures[i];
      if (Scope::takes_part(capture).derivatives == 0) continue;
      converted.hoisted.push_back(i);
      arrays.append(nb::steal(new_array(capture)));
    }
    return nb::object(nb::make_tuple(nb::cast(std::move(converted)), arrays));
  });
}

// rule(lanes, which leaves are batched, arguments) -> (a tree like the function's result, which of its leaves are
// batched).
nb::object custom_vmap(nb::object f, nb::handle rule, nb::tuple args) {
  return call_transformation("custom_vmap", [&] {
    FlatCall call("custom_vmap", std::move(f), args, nb::dict(), every_argument(args), false);
    const TreeRef arguments = tuple_of_arguments(call);
    const auto by_rule = [&](const Dim& lanes, const std::vector<bool>& batched, std::span<const Array> given) {
      nb::list mask;
      for (const bool b : batched) mask.append(nb::bool_(b));
      const nb::object made = rule(lanes.value(), mask, unflatten_arrays(*arguments, given));
      FlatTree out = flat_arrays("custom_vmap", "the rule's result", made[0]);
      require_same_tree("custom_vmap", "the function's and the rule's results", *call.result(), *out.tree);
      api_detail::Batched result{std::move(out.leaves), {}};
      for (nb::handle b : nb::iter(made[1])) result.batched.push_back(nb::cast<bool>(b));
      return result;
    };
    return unflatten_arrays(*call.result(), api_detail::custom_vmap_flat(call, by_rule, call.leaves()));
  });
}

// The params of an eqn as a dict, for policies: numbers, texts, and lists of them.
class ParamsAsDict final : public ParamsWriter {
 public:
  nb::dict dict;
  void field(std::string_view name) override { name_ = name; }
  void integer(std::int64_t value) override { put(nb::int_(value)); }
  void boolean(bool value) override { put(nb::bool_(value)); }
  void real(double value) override { put(nb::float_(value)); }
  void word(std::string_view value) override { text(value); }
  void text(std::string_view value) override { put(nb::str(value.data(), value.size())); }
  void dim(const Dim& value) override { value.known() ? integer(value.value()) : text(value.text()); }
  void scalar(const Scalar& value) override { text(value.text()); }
  void type(const Type& value) override { text(value.text()); }
  void program(const ProgramRef&) override { nothing(); }
  void nothing() override { put(nb::none()); }
  void begin_list() override { open_.emplace_back(); }
  void item() override {}
  void end_list() override {
    const nb::tuple made(open_.back());
    open_.pop_back();
    put(made);
  }

 private:
  void put(nb::object value) {
    if (open_.empty())
      dict[nb::str(name_.data(), name_.size())] = value;
    else
      open_.back().append(value);
  }
  std::string_view name_;
  std::vector<nb::list> open_;
};

// The results, as a tree, of what run(call) makes of a call of f.
template <class Run>
nb::object transformed(const char* name, nb::object f, nb::tuple args, nb::dict kwargs, Run&& run) {
  return call_transformation(name, [&] {
    FlatCall call(name, std::move(f), args, kwargs, every_argument(args), true);
    const Arrays results = run(call);
    return unflatten_arrays(*call.result(), results);
  });
}

// policy(name of the op, (shape, dtype) of each operand, params), or None.
nb::object checkpoint(nb::object f, nb::tuple args, nb::dict kwargs, nb::handle policy) {
  return transformed("checkpoint", std::move(f), args, kwargs, [&](FlatCall& call) {
    const auto keeps = [&](const Program& program, const Eqn& eqn) {
      nb::list operands;
      for (const Var v : eqn.in) {
        const Type& type = program.type(v);
        if (!type.is_array()) return false;
        operands.append(nb::make_tuple(shape_object(type.shape), numpy_dtype(type.dtype)));
      }
      ParamsAsDict params;
      if (!eqn.params.none()) eqn.params.ops()->write(eqn.params.value(), params);
      return nb::cast<bool>(policy(nb::str(eqn.op->name.data(), eqn.op->name.size()), operands, params.dict));
    };
    const api_detail::Keeps asked = keeps;
    return api_detail::checkpoint_flat(call, call.leaves(), policy.is_none() ? api_detail::Keeps() : asked);
  });
}

// A call of a unit, or one that is inlined.
nb::object placed(nb::object f, std::string name, bool unit, nb::tuple args, nb::dict kwargs) {
  return transformed(unit ? "noinline" : "inline_", std::move(f), args, kwargs, [&](FlatCall& call) {
    return api_detail::placed_flat(call, call.leaves(), unit ? Placement::unit : Placement::inlined, name);
  });
}

nb::object hoisted(nb::object f, nb::tuple args, nb::dict kwargs) {
  return transformed("hoist_reductions", std::move(f), args, kwargs,
                     [](FlatCall& call) { return api_detail::hoisted_flat(call, call.leaves()); });
}

nb::object checkpoint_name(ArrayLike x, std::string name) {
  const Array a = x.array("checkpoint_name");
  return array_object(call_op("checkpoint_name", [&] { return tenon::checkpoint_name(op(a), std::move(name)); }));
}

}  // namespace

void add_custom_rules(nb::module_& module) {
  nb::class_<Converted>(module, "ConvertedFunction", "What closure_convert() returns beside the captured arrays.")
      .def("__call__", call_converted);
  module.def("custom_jvp", custom_jvp);
  module.def("custom_vjp", custom_vjp);
  module.def("custom_vmap", custom_vmap);
  module.def("perturbed", perturbed);
  module.def("closure_convert", closure_convert);
  module.def("checkpoint", checkpoint);
  module.def("placed", placed);
  module.def("hoisted", hoisted);
  module.def("checkpoint_name", checkpoint_name);
}

}  // namespace tenon::python
