// Transformations of Python's functions: derivatives, batches, and rules of the user's own.
#include "tenon/api/transforms.h"

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "call.h"
#include "dtypes.h"
#include "errors.h"
#include "functions.h"
#include "lists.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/ir/scope.h"

namespace tenon::python {
namespace {

std::vector<std::size_t> numbers(std::string_view op, const std::vector<std::int64_t>& given, std::size_t count) {
  std::vector<std::size_t> all;
  for (const std::int64_t n : given) {
    const std::int64_t at = n < 0 ? n + static_cast<std::int64_t>(count) : n;
    if (at < 0 || at >= static_cast<std::int64_t>(count))
      throw TreeError(fmt::format("{}: there is no argument {}: the function is called with {}.", op, n, count),
                      "Arguments are counted from 0, or from the end by negative numbers.");
    all.push_back(static_cast<std::size_t>(at));
  }
  return all;
}

std::vector<std::size_t> ascending(std::vector<std::size_t> all) {
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

// Trees like the arguments `wanted`, in the order asked for, of flat arrays that stand for those that were traced.
nb::object like_arguments(const FlatCall& call, const std::vector<std::size_t>& traced,
                          const std::vector<std::size_t>& wanted, bool alone, std::span<const Array> leaves) {
  std::vector<nb::object> of_traced;
  std::size_t at = 0;
  for (std::size_t i = 0; i < traced.size(); ++i) {
    of_traced.push_back(unflatten_arrays(call.argument(i), leaves.subspan(at, call.argument(i).leaves())));
    at += call.argument(i).leaves();
  }
  nb::list all;
  for (const std::size_t w : wanted)
    all.append(of_traced[static_cast<std::size_t>(std::ranges::find(traced, w) - traced.begin())]);
  return alone ? nb::object(all[0]) : nb::object(nb::tuple(all));
}

// A derivative in a list is a list, as long as that one: the sizes of lists are those of `values`.
void put_sizes(const std::vector<bool>& sizes, std::span<const Array> values, std::span<Array> tangents) {
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i]) tangents[i] = values[i];
}

// Which leaves of all arguments are sizes of lists.
std::vector<bool> sizes_of_lists(const FlatCall& call) {
  std::vector<bool> all;
  for (std::size_t i = 0; i < call.arguments(); ++i)
    for (const bool size : sizes_of_lists(call.argument(i))) all.push_back(size);
  return all;
}

// What a derivative is taken in: every leaf but the sizes of lists.
api_detail::Arguments differentiated(const char* op, const FlatCall& call) {
  for (std::size_t i = 0; i < call.arguments(); ++i) refuse_references(op, "an argument", call.argument(i));
  api_detail::Arguments arguments = call.all();
  const std::vector<bool> sizes = sizes_of_lists(call);
  for (std::size_t i = 0; i < sizes.size(); ++i) arguments.chosen[i] = !sizes[i];
  return arguments;
}

nb::object value_and_grad(const char* op, nb::object f, const std::vector<std::int64_t>& argnums, bool alone,
                          bool has_aux, nb::tuple args, nb::dict kwargs) {
  const std::vector<std::size_t> wanted = numbers(op, argnums, args.size());
  const std::vector<std::size_t> traced = ascending(wanted);
  return call_transformation(op, [&] {
    FlatCall call(op, std::move(f), std::move(args), std::move(kwargs), traced, false);
    if (has_aux) call.returns_pair();
    const auto checked = [&](std::span<const Array> in) {
      Arrays out = call(in);
      const std::size_t values = has_aux ? call.first_of_pair()->leaves() : out.size();
      if (values != 1)
        throw DifferentiationError(fmt::format("{}: the function returns {} arrays, not one real number.", op, values),
                                   "Where it returns (number, auxiliary), say has_aux=True.");
      return out;
    };
    api_detail::FlatGradient g = api_detail::gradient_flat(op, checked, differentiated(op, call));
    put_sizes(sizes_of_lists(call), call.leaves(), g.gradient);
    return nb::object(nb::make_tuple(unflatten_arrays(*call.result(), g.outputs),
                                     like_arguments(call, traced, wanted, alone, g.gradient)));
  });
}

// Tangents have the dtypes of what they are those of, and of integers there are none: linearize is given zeros of the
// dtype float0.
void require_tangents(std::string_view op, const TreeDef& tree, std::span<const Type> of,
                      std::span<const Array> given) {
  const std::vector<bool> sizes = sizes_of_lists(tree);
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!of[i].is_array() || sizes[i] || given[i].empty()) continue;
    const bool inexact = is_inexact(of[i].dtype);
    const bool fits = is_inexact(given[i].dtype()) && (is_complex(of[i].dtype) || !is_complex(given[i].dtype()));
    if (inexact ? fits : op != "linearize") continue;
    throw DTypeError(fmt::format("{}: {} values inconsistent with {}: leaf {} is {}, and its {} {}.", op,
                                 op == "vjp" ? "cotangent" : "tangent", op == "vjp" ? "the result" : "the arguments", i,
                                 of[i].text(), op == "vjp" ? "cotangent" : "tangent", given[i].type().text()),
                     inexact ? "A tangent has the dtype of what it is the tangent of."
                             : "Of integers and bools it is zeros of NumPy's dtype float0.");
  }
}

nb::object jvp(nb::object f, nb::handle primals, nb::handle tangents, bool has_aux) {
  if ((!PyTuple_Check(primals.ptr()) && !PyList_Check(primals.ptr())) ||
      (!PyTuple_Check(tangents.ptr()) && !PyList_Check(tangents.ptr()))) {
    PyErr_SetString(PyExc_TypeError, "jvp: primals and tangents are tuples (or lists), an entry an argument.");
    throw nb::python_error();
  }
  return call_transformation("jvp", [&] {
    nb::tuple args(nb::borrow<nb::object>(primals));
    FlatCall call("jvp", std::move(f), args, nb::dict(), every_argument(args), false);
    if (has_aux) call.returns_pair();
    const FlatTree given = flat_tangents("jvp", "the tangents", nb::tuple(nb::borrow<nb::object>(tangents)));
    require_same_tree("jvp", "the arguments and their tangents", *tuple_of_arguments(call), *given.tree);
    require_tangents("jvp", *given.tree, types(call.leaves()), given.leaves);
    Arrays both = api_detail::jvp_flat(call, differentiated("jvp", call), given.leaves);
    const std::size_t half = both.size() / 2;
    put_sizes(sizes_of_lists(*call.result()), std::span(both).first(half), std::span(both).subspan(half));
    const std::span<const Array> all(both);
    const std::span<const Array> values = all.first(half), slopes = all.subspan(half);
    if (!has_aux)
      return nb::object(nb::make_tuple(unflatten_arrays(*call.result(), values),
                                       unflatten_tangents(*call.result(), slopes, types(values))));
    const TreeRef first = call.first_of_pair();
    const std::size_t n = first->leaves();
    return nb::object(nb::make_tuple(unflatten_arrays(*first, values.first(n)),
                                     unflatten_tangents(*first, slopes.first(n), types(values.first(n))),
                                     unflatten_arrays(*call.second_of_pair(), values.subspan(n))));
  });
}

// What vjp and linearize return: a linear function of trees, which can be called again. All but the residuals is its
// form.
struct LinearForm {
  const char* op;
  std::function<Arrays(std::span<const Array>, std::span<const Array>)> apply_to;
  Hash128 number;
  TreeRef in, out;
  std::vector<Type> out_types;
  bool tuple;                  // vjp: takes one tree, gives a tuple; linearize: takes a tree an argument
  Arrays sized;                // what results with lists belong to: empty where there are none
  std::size_t dropped = 0;     // auxiliary results, whose cotangents are zero
  std::vector<Type> in_types;  // of what the function takes: tangents of the arguments, or cotangents of the result
  std::vector<Type> residual_types;
  std::vector<std::size_t> argument_of;  // vjp: which leaf of the arguments each residual is

  bool operator==(const LinearForm& b) const {
    return this == &b || (sized.empty() && b.sized.empty() && number == b.number && tuple == b.tuple && *in == *b.in &&
                          *out == *b.out && out_types == b.out_types && dropped == b.dropped &&
                          in_types == b.in_types && argument_of == b.argument_of);
  }
};
struct Linear {
  std::shared_ptr<const LinearForm> form;
  Arrays residuals;  // empty where it was taken away
};

// `values`: what `out` is the tree of; `in_types`: of what `in` is the tree of.
Linear linear_from(const char* op, api_detail::FlatLinear& linear, TreeRef in, TreeRef out, const Arrays& values,
                   std::size_t dropped, std::vector<Type> in_types) {
  const std::vector<bool> sizes = sizes_of_lists(*out);
  const bool lists = std::ranges::find(sizes, true) != sizes.end();
  auto form = std::make_shared<const LinearForm>(
      LinearForm{op, std::move(linear.apply_to), linear.form, std::move(in), std::move(out), types(values),
                 op == std::string_view("vjp"), lists ? values : Arrays(), dropped, std::move(in_types),
                 types(linear.residuals), std::move(linear.argument_of)});
  return {std::move(form), std::move(linear.residuals)};
}

nb::object apply_linear(const Linear& linear, nb::args args) {
  const LinearForm& form = *linear.form;
  return call_transformation(form.op, [&] {
    nb::object given = args;
    if (form.tuple) {
      if (args.size() != 1) {
        PyErr_SetString(PyExc_TypeError, "vjp: the function takes one cotangent, a tree like the result.");
        throw nb::python_error();
      }
      given = args[0];
    }
    FlatTree flat = flat_tangents(form.op, form.tuple ? "the cotangent" : "the tangents", given);
    require_same_tree(form.op, form.tuple ? "the result and its cotangent" : "the arguments and their tangents",
                      *form.in, *flat.tree);
    require_tangents(form.op, *form.in, form.in_types, flat.leaves);
    for (const Array& residual : linear.residuals)
      if (residual.empty())
        throw TreeError("vjp: an argument that the function has kept was taken away from it.",
                        "Give it back: pull.args_res = [argument, …].");
    flat.leaves.resize(flat.leaves.size() + form.dropped);
    Arrays results = form.apply_to(linear.residuals, flat.leaves);
    results.resize(form.out->leaves());
    if (!form.sized.empty()) put_sizes(sizes_of_lists(*form.out), form.sized, results);
    return unflatten_tangents(*form.out, results, form.out_types);
  });
}

nb::object vjp(nb::object f, nb::tuple args, bool has_aux) {
  return call_transformation("vjp", [&] {
    FlatCall call("vjp", std::move(f), args, nb::dict(), every_argument(args), false);
    if (has_aux) call.returns_pair();
    api_detail::FlatLinear linear = api_detail::vjp_flat(call, differentiated("vjp", call));
    const TreeRef result = has_aux ? call.first_of_pair() : call.result(), of_arguments = tuple_of_arguments(call);
    const std::size_t own = result->leaves();
    const Arrays outputs = linear.outputs;
    nb::object pull = nb::cast(linear_from("vjp", linear, result, of_arguments, call.leaves(), outputs.size() - own,
                                           types(std::span<const Array>(outputs).first(own))));
    const std::span<const Array> all(outputs);
    const nb::object value = unflatten_arrays(*result, all.first(own));
    if (!has_aux) return nb::object(nb::make_tuple(value, pull));
    return nb::object(nb::make_tuple(value, pull, unflatten_arrays(*call.second_of_pair(), all.subspan(own))));
  });
}

nb::object linearize(nb::object f, nb::tuple args, bool has_aux) {
  return call_transformation("linearize", [&] {
    FlatCall call("linearize", std::move(f), args, nb::dict(), every_argument(args), false);
    if (has_aux) call.returns_pair();
    api_detail::FlatLinear linear = api_detail::linearize_flat(call, differentiated("linearize", call));
    const TreeRef result = has_aux ? call.first_of_pair() : call.result(), of_arguments = tuple_of_arguments(call);
    const Arrays outputs = linear.outputs;
    nb::object push =
        nb::cast(linear_from("linearize", linear, of_arguments, result, outputs, 0, types(call.leaves())));
    const std::span<const Array> all(outputs);
    const nb::object value = unflatten_arrays(*result, all.first(result->leaves()));
    if (!has_aux) return nb::object(nb::make_tuple(value, push));
    return nb::object(
        nb::make_tuple(value, push, unflatten_arrays(*call.second_of_pair(), all.subspan(result->leaves()))));
  });
}

// As a node of trees: (residuals, form), and back.
nb::object linear_parts(const Linear& linear) {
  nb::list residuals;
  for (const Array& a : linear.residuals) residuals.append(a.empty() ? nb::none() : array_object(a));
  return nb::make_tuple(nb::tuple(residuals), nb::cast(linear.form));
}
Linear linear_of(std::shared_ptr<const LinearForm> form, nb::handle residuals) {
  Linear linear{std::move(form), {}};
  for (nb::handle r : nb::iter(residuals)) {
    Array a;
    if (!r.is_none() && !operand_from(r.ptr(), a)) {
      PyErr_Format(PyExc_TypeError, "%s: a residual of the function is %R, no array.", linear.form->op, r.ptr());
      throw nb::python_error();
    }
    linear.residuals.push_back(std::move(a));
  }
  return linear;
}

// What it has kept of its arguments: {number of a leaf: the array, or None where it was taken away}.
nb::dict kept_arguments(const Linear& linear) {
  nb::dict kept;
  const std::vector<std::size_t>& argument_of = linear.form->argument_of;
  for (std::size_t i = 0; i < argument_of.size(); ++i)
    if (argument_of[i] != api_detail::FlatLinear::no_argument)
      kept[nb::int_(argument_of[i])] = linear.residuals[i].empty() ? nb::none() : array_object(linear.residuals[i]);
  return kept;
}

// Gives it another array in the place of a leaf of its arguments, or None.
void keep_argument(Linear& linear, std::size_t leaf, nb::handle value) {
  const LinearForm& form = *linear.form;
  for (std::size_t i = 0; i < form.argument_of.size(); ++i) {
    if (form.argument_of[i] != leaf) continue;
    linear.residuals[i] = value.is_none()
                              ? Array()
                              : api_detail::fitted(operand("args_res", value), form.residual_types[i], "args_res",
                                                   [&] { return fmt::format("leaf {} of the arguments", leaf); });
  }
}

nb::object jacobian(const char* op, bool reverse, nb::object f, const std::vector<std::int64_t>& argnums, bool alone,
                    bool has_aux, nb::tuple args, nb::dict kwargs) {
  const std::vector<std::size_t> wanted = numbers(op, argnums, args.size());
  const std::vector<std::size_t> traced = ascending(wanted);
  return call_transformation(op, [&] {
    FlatCall call(op, std::move(f), std::move(args), std::move(kwargs), traced, false);
    if (has_aux) call.returns_pair();
    const auto results = [&] { return (has_aux ? call.first_of_pair() : call.result())->leaves(); };
    const api_detail::FlatJacobian j = api_detail::jacobian_flat(
        reverse ? api_detail::Mode::reverse : api_detail::Mode::forward, op, call, differentiated(op, call), results);
    const std::span<const Array> blocks(j.blocks);
    const std::size_t n = call.leaves().size();
    std::size_t row = 0;
    const TreeRef tree = has_aux ? call.first_of_pair() : call.result();
    nb::object made = nb::steal(tree->unflatten(
        [&] { return like_arguments(call, traced, wanted, alone, blocks.subspan(n * row++, n)).release().ptr(); }));
    if (!has_aux) return made;
    return nb::object(nb::make_tuple(
        made, unflatten_arrays(*call.second_of_pair(), std::span<const Array>(j.outputs).subspan(results()))));
  });
}

// --- vmap ---

// Axes of a tree's leaves, as a prefix of it: ints, None, and containers of them.
AxisTree axes_from(nb::handle axes, const char* option) {
  if (axes.is_none()) return none;
  const auto refuse = [&] {
    const std::string given = nb::cast<std::string>(nb::repr(axes));
    throw_option_error(fmt::format("vmap: {} must be an int, None, or a tree of them, not {}.", option, given));
  };
  if (PyBool_Check(axes.ptr())) refuse();
  if (PyLong_Check(axes.ptr())) return nb::cast<std::int64_t>(axes);
  if (nb::hasattr(axes, "__index__")) return nb::cast<std::int64_t>(nb::object(axes.attr("__index__")()));
  Objects children;
  const TreeRef tree = flatten_once(axes, children);
  if (tree->nodes()[0].kind == Node::Kind::leaf) refuse();
  std::vector<AxisTree> entries;
  for (const nb::object& child : children) entries.push_back(axes_from(child, option));
  return AxisTree(std::move(entries));
}

// Those that differ from lane to lane. The others are given on as they are: they may be static arguments of a jitted
// function.
std::vector<std::size_t> mapped_arguments(const AxisTree& in_axes, const nb::tuple& args) {
  std::vector<std::size_t> mapped = every_argument(args);
  const auto shared = [&](std::size_t i) { return !in_axes.entries()[i].is_list() && !in_axes.entries()[i].axis(); };
  if (in_axes.is_list()) std::erase_if(mapped, shared);
  return mapped;
}

// Axes stand in a tree above the arguments' or the result's.
TreeRef structure_of_axes(nb::handle axes) {
  Objects leaves;
  return flatten(axes, leaves, nb::module_::import_("tenon._arguments").attr("is_none"));
}

void require_above(const char* option, nb::handle axes, const std::string& what, const TreeDef& tree) {
  if (axes.is_none() || PyLong_Check(axes.ptr())) return;
  const std::string where = difference(*structure_of_axes(axes), tree);
  if (!where.empty())
    throw TreeError(
        fmt::format("vmap: {} is no tree above {}: {}.", option, what, where),
        "Give an axis, or None, for the whole of it, or for each field or element, in the same containers.");
}

nb::object vmap(nb::object f, nb::handle in_axes, nb::handle out_axes, nb::handle size, std::string axis_name,
                nb::tuple args, nb::dict kwargs) {
  VmapOptions options{axes_from(in_axes, "in_axes"), axes_from(out_axes, "out_axes")};
  options.axis_name = std::move(axis_name);
  if (!size.is_none()) options.size = dim_from(size);
  return call_transformation("vmap", [&] {
    if (options.in_axes.is_list() && options.in_axes.entries().size() != args.size())
      throw_option_error(fmt::format("vmap: in_axes has {} entries, the function is called with {} arguments.",
                                     options.in_axes.entries().size(), args.size()));
    const std::vector<std::size_t> mapped = mapped_arguments(options.in_axes, args);
    FlatCall call("vmap", std::move(f), args, kwargs, mapped, true);
    if (options.in_axes.is_list()) {
      std::vector<AxisTree> entries;
      for (std::size_t k = 0; k < mapped.size(); ++k) {
        const std::size_t i = mapped[k];
        require_above("in_axes", in_axes[i], fmt::format("argument {}", i), call.argument(k));
        entries.push_back(options.in_axes.entries()[i]);
      }
      if (nb::len(kwargs) > 0) entries.emplace_back(0);  // those by keyword are mapped along axis 0
      options.in_axes = AxisTree(std::move(entries));
    }
    const auto places_of_result = [&] {
      require_above("out_axes", out_axes, "the result", *call.result());
      return places_of(*call.result());
    };
    const Arrays results = api_detail::vmap_flat({call, call.leaves(), call.places(), places_of_result}, options);
    return unflatten_arrays(*call.result(), results);
  });
}

// A context of Python's in which ops run now.
struct PyCompileTime {
  std::unique_ptr<CompileTime> open;
};

}  // namespace

void add_transforms(nb::module_& module) {
  nb::class_<Linear>(module, "LinearFunction", "What vjp() and linearize() return beside the result.")
      .def("__call__", apply_linear)
      .def("_parts", linear_parts)
      .def_prop_ro("_arguments", [](const Linear& linear) { return treedef_object(linear.form->out); })
      .def("_kept_arguments", kept_arguments)
      .def("_keep_argument", keep_argument, nb::arg("leaf"), nb::arg("value").none())
      .def("_result", [](const Linear& linear, nb::handle leaf) {
        std::size_t i = 0;
        return nb::steal(linear.form->out->unflatten([&] {
          const Type& t = linear.form->out_types[i++];
          return nb::object(leaf(shape_object(t.shape), numpy_dtype(t.dtype))).release().ptr();
        }));
      });
  nb::class_<LinearForm>(module, "LinearForm", "What a LinearFunction is beside its residuals.")
      .def("__eq__", [](const LinearForm& a,
                        nb::handle b) { return nb::isinstance<LinearForm>(b) && a == nb::cast<const LinearForm&>(b); })
      .def("__hash__", [](const LinearForm& f) { return static_cast<std::int64_t>(f.number.low >> 1); })
      .def("__repr__", [](const LinearForm& f) { return std::string("LinearForm(") + f.op + ")"; });
  module.def("linear_of", linear_of);
  nb::class_<PyCompileTime>(module, "CompileTime",
                            "While it is open, ops of concrete arrays run now, as if no trace were open.")
      .def(nb::init<>())
      .def("__enter__", [](PyCompileTime& c) { c.open = std::make_unique<CompileTime>(CompileTime::From::concrete); })
      .def("__exit__", [](PyCompileTime& c, nb::args) { c.open.reset(); });
  module.def("tracing", tracing, "Whether a trace is open on this thread.");
  // Names of functions are literals: they outlive the errors that tell them.
  module.def("value_and_grad", [](nb::object f, const std::vector<std::int64_t>& argnums, bool alone, bool has_aux,
                                  bool named_grad, nb::tuple args, nb::dict kwargs) {
    return value_and_grad(named_grad ? "grad" : "value_and_grad", std::move(f), argnums, alone, has_aux,
                          std::move(args), std::move(kwargs));
  });
  module.def("jvp", jvp);
  module.def("vjp", vjp);
  module.def("linearize", linearize);
  module.def("jacobian", [](bool reverse, nb::object f, const std::vector<std::int64_t>& argnums, bool alone,
                            bool has_aux, nb::tuple args, nb::dict kwargs) {
    return jacobian(reverse ? "jacrev" : "jacfwd", reverse, std::move(f), argnums, alone, has_aux, std::move(args),
                    std::move(kwargs));
  });
  module.def("vmap", vmap);
}

}  // namespace tenon::python
