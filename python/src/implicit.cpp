// Implicit derivatives: roots and linear systems that a function of the user's solves.
#include "tenon/api/implicit.h"

#include "call.h"
#include "functions.h"
#include "rooms.h"

namespace tenon::python {
namespace {

// A flat function as one of trees, for the user's solvers.
struct TreeFunction {
  KeptFlatFunction f;
  TreeRef tree;
};

nb::object call_tree_function(const TreeFunction& f, nb::handle x) {
  const FlatTree given = flat_arrays("solve", "the argument", x);
  require_same_tree("solve", "the argument and what is solved for", *f.tree, *given.tree);
  return unflatten_arrays(*f.tree, f.f(given.leaves));
}

Arrays leaves_like(const char* op, const char* what, const TreeRef& tree, nb::handle result) {
  FlatTree made = flat_arrays(op, what, result);
  require_same_tree(op, what, *tree, *made.tree);
  return std::move(made.leaves);
}

KeptFlatFunction endomorphism(const char* op, const char* what, nb::handle f, const TreeRef& tree) {
  return [=](std::span<const Array> in) { return leaves_like(op, what, tree, f(unflatten_arrays(*tree, in))); };
}

api_detail::FlatSolver solver(const char* op, const char* what, nb::handle solve, const TreeRef& tree) {
  return [=](const KeptFlatFunction& f, std::span<const Array> in) {
    return leaves_like(op, what, tree, solve(nb::cast(TreeFunction{f, tree}), unflatten_arrays(*tree, in)));
  };
}

nb::object custom_root(nb::handle f, nb::handle guess, nb::handle solve, nb::handle tangent_solve, bool has_aux) {
  return call_transformation("custom_root", [&] {
    const FlatTree start = flat_arrays("custom_root", "the guess", guess);
    const TreeRef& tree = start.tree;
    // What solve returns beside the root goes through as further leaves.
    TreeRef aux;
    const api_detail::FlatSolver solved = [&](const KeptFlatFunction& equation, std::span<const Array> in) {
      const nb::object result = solve(nb::cast(TreeFunction{equation, tree}), unflatten_arrays(*tree, in));
      const char* const what = "the guess and what solve returns";
      if (!has_aux) return leaves_like("custom_root", what, tree, result);
      const auto [root, beside] = pair_of("custom_root", "solve returns", "(root, auxiliary)", result);
      Arrays all = leaves_like("custom_root", what, tree, root);
      const FlatTree told = flat_arrays("custom_root", "what solve returns beside the root", beside);
      aux = told.tree;
      all.insert(all.end(), told.leaves.begin(), told.leaves.end());
      return all;
    };
    const Arrays results = api_detail::custom_root_flat(
        endomorphism("custom_root", "the guess and what f returns", f, tree), start.leaves, solved,
        solver("custom_root", "the guess and what tangent_solve returns", tangent_solve, tree),
        [&] { return tree->names(); });
    const std::span<const Array> all(results);
    const nb::object root = unflatten_arrays(*tree, all.first(start.leaves.size()));
    return has_aux ? nb::make_tuple(root, unflatten_arrays(*aux, all.subspan(start.leaves.size()))) : root;
  });
}

nb::object custom_linear_solve(nb::handle matvec, nb::handle b, nb::handle solve, nb::handle transpose_solve,
                               bool symmetric) {
  return call_transformation("custom_linear_solve", [&] {
    const FlatTree right = flat_arrays("custom_linear_solve", "b", b);
    const TreeRef& tree = right.tree;
    api_detail::FlatSolver transposed;
    if (!transpose_solve.is_none())
      transposed = solver("custom_linear_solve", "b and what transpose_solve returns", transpose_solve, tree);
    return unflatten_arrays(
        *tree, api_detail::linear_solve_flat(
                   endomorphism("custom_linear_solve", "b and what matvec returns", matvec, tree), right.leaves,
                   solver("custom_linear_solve", "b and what solve returns", solve, tree), transposed, symmetric,
                   [&] { return tree->names(); }));
  });
}

}  // namespace

void add_implicit(nb::module_& module) {
  nb::class_<TreeFunction>(module, "TreeFunction", "What a solver is given: a function of a tree.")
      .def("__call__", call_tree_function);
  module.def("custom_root", custom_root);
  module.def("custom_linear_solve", custom_linear_solve);
}

}  // namespace tenon::python
