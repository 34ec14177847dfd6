// Iterations over functions of the user's: linear systems, minima, differential equations.
#include <nanobind/stl/string.h>

#include "choices_api_linear_solvers.h"
#include "functions.h"
#include "rooms.h"
#include "tenon/api/minimize.h"
#include "tenon/api/odeint.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::python {
namespace {

// A function of a tree that gives such a tree, as one of flat arrays.
KeptFlatFunction of_tree(const char* op, const char* what, nb::handle f, const TreeRef& tree) {
  return [=](std::span<const Array> in) {
    FlatTree made = flat_arrays(op, what, f(unflatten_arrays(*tree, in)));
    require_same_tree(op, what, *tree, *made.tree);
    return std::move(made.leaves);
  };
}

std::optional<std::int64_t> number_or_none(nb::handle given) {
  return given.is_none() ? std::nullopt : std::optional(nb::cast<std::int64_t>(given));
}

// a: a function, or a matrix.
nb::object iterative_solve(const std::string& name, nb::handle a, nb::handle b, nb::handle x0, ArrayLike tol,
                           ArrayLike atol, nb::handle maxiter, nb::handle m, std::int64_t restart, bool incremental) {
  const char* const op_name = name.c_str();
  return call_transformation(op_name, [&] {
    const FlatTree right = flat_arrays(op_name, "b", b);
    const TreeRef& tree = right.tree;
    api_detail::IterativeOptions options{
        tol.array(op_name), atol.array(op_name), number_or_none(maxiter), {}, {}, restart, incremental};
    if (!x0.is_none()) {
      FlatTree start = flat_arrays(op_name, "x0", x0);
      require_same_tree(op_name, "x0 and b", *tree, *start.tree);
      options.x0 = std::move(start.leaves);
    }
    if (!m.is_none()) options.preconditioner = of_tree(op_name, "b and what the preconditioner returns", m, tree);
    const auto names = [&] { return tree->names(); };
    using api_detail::IterativeMethod;
    const IterativeMethod method = by_name("iterative_solve", "name", Choices<IterativeMethod>::all, name);
    const Arrays x = PyCallable_Check(a.ptr()) != 0
                         ? api_detail::iterative_solve_flat(method, of_tree(op_name, "b and what A returns", a, tree),
                                                            right.leaves, options, names)
                         : api_detail::iterative_solve_flat(method, flat_arrays(op_name, "A", a).leaves.at(0),
                                                            right.leaves, options, names);
    return unflatten_arrays(*tree, x);
  });
}

nb::object minimize(nb::handle f, nb::handle x0, bool bfgs, ArrayLike gtol, double norm, nb::handle maxiter,
                    nb::handle line_search_maxiter, std::int64_t history, ArrayLike ftol, nb::handle maxfun,
                    nb::handle maxgrad) {
  return call_transformation("minimize", [&] {
    const FlatTree start = flat_arrays("minimize", "x0", x0);
    const TreeRef& tree = start.tree;
    const KeptFlatFunction flat = [&](std::span<const Array> in) {
      return flat_arrays("minimize", "what the function returns", f(unflatten_arrays(*tree, in))).leaves;
    };
    const optim::MinimizeOptions options{bfgs ? optim::MinimizeMethod::bfgs : optim::MinimizeMethod::lbfgs,
                                         gtol.array("minimize"),
                                         norm,
                                         number_or_none(maxiter),
                                         number_or_none(line_search_maxiter),
                                         history,
                                         ftol.array("minimize"),
                                         number_or_none(maxfun),
                                         number_or_none(maxgrad)};
    const api_detail::FlatMinimum m =
        api_detail::minimize_flat(flat, start.leaves, options, [&] { return tree->names(); });
    return nb::object(nb::make_tuple(unflatten_arrays(*tree, m.x), array_object(m.success), array_object(m.status),
                                     array_object(m.fun), unflatten_arrays(*tree, m.jac),
                                     m.hess_inv.empty() ? nb::none() : array_object(m.hess_inv), array_object(m.nfev),
                                     array_object(m.njev), array_object(m.nit)));
  });
}

Dim elements(const Arrays& leaves) {
  Dim all = 0;
  for (const Array& a : leaves) all = all + (a.type().is_array() ? a.shape().elements() : Dim(0));
  return all;
}
// As many elements in the order of another tree's leaves, as JAX takes them.
Arrays in_shapes_of(const Arrays& like, const Arrays& leaves) {
  Arrays parts;
  for (const Array& a : leaves) parts.push_back(reshape(op(a), {a.shape().elements()}));
  const Array all = concatenate(in_one_dtype(parts).operands, 0);
  parts.clear();
  Dim at = 0;
  for (const Array& a : like) {
    const Dim end = at + a.shape().elements();
    const Array part = reshape(op(slice_in_dim(op(all), at, end, 0)), a.shape());
    parts.push_back(is_inexact(a.dtype()) ? convert(op(part), a.dtype()) : part);
    at = end;
  }
  return parts;
}

// f(y, t, *args), args a tuple, of leaves; `start` outlives it.
KeptFlatFunction slope_of(const char* name, nb::handle f, const FlatTree& start, const TreeRef& args) {
  return [=, &start](std::span<const Array> in) {
    const TreeRef& tree = start.tree;
    const std::size_t n = start.leaves.size();
    nb::list given;
    given.append(unflatten_arrays(*tree, in.first(n)));
    given.append(array_object(in[n]));
    given.extend(unflatten_arrays(*args, in.subspan(n + 1)));
    const nb::object slope = nb::steal(PyObject_CallObject(f.ptr(), nb::tuple(given).ptr()));
    if (!slope) throw nb::python_error();
    FlatTree made = flat_arrays(name, "what f returns", slope);
    if (!(*tree == *made.tree)) {
      if (elements(made.leaves) != elements(start.leaves))
        require_same_tree(name, "y0 and what f returns", *tree, *made.tree);
      return in_shapes_of(start.leaves, made.leaves);
    }
    return std::move(made.leaves);
  };
}

nb::object odeint(nb::handle f, nb::handle y0, ArrayLike t, nb::handle args, double rtol, double atol,
                  nb::handle mxstep, double hmax, bool adjoint) {
  const Array times = t.array("odeint");
  return call_transformation("odeint", [&] {
    const FlatTree start = flat_arrays("odeint", "y0", y0), more = flat_arrays("odeint", "an argument", args);
    return unflatten_arrays(
        *start.tree, api_detail::odeint_flat(slope_of("odeint", f, start, more.tree), start.leaves, times, more.leaves,
                                             {rtol, atol, number_or_none(mxstep), hmax, adjoint},
                                             [&] { return start.tree->names(); }));
  });
}
// (y at the end, steps that counted, and those that did not)
nb::object odeint_end(nb::handle f, nb::handle y0, ArrayLike t0, ArrayLike t1, nb::handle args, double rtol,
                      double atol, nb::handle mxstep, double hmax, bool adjoint) {
  const Array from = t0.array("odeint_end"), to = t1.array("odeint_end");
  return call_transformation("odeint_end", [&] {
    const FlatTree start = flat_arrays("odeint_end", "y0", y0), more = flat_arrays("odeint_end", "an argument", args);
    const Arrays made = api_detail::odeint_end_flat(slope_of("odeint_end", f, start, more.tree), start.leaves, from, to,
                                                    more.leaves, {rtol, atol, number_or_none(mxstep), hmax, adjoint},
                                                    [&] { return start.tree->names(); });
    const std::span<const Array> all(made);
    return nb::object(nb::make_tuple(unflatten_arrays(*start.tree, all.first(all.size() - 2)),
                                     array_object(all[all.size() - 2]), array_object(all.back())));
  });
}

}  // namespace

void add_solvers(nb::module_& module) {
  module.def("iterative_solve", iterative_solve);
  module.def("minimize", minimize);
  module.def("odeint", odeint);
  module.def("odeint_end", odeint_end);
}

}  // namespace tenon::python
