// Loops and branches over trees of Python's: scan, while_loop, fori_loop, cond, switch, associative_scan.
#include "tenon/api/loops.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "call.h"
#include "functions.h"
#include "rooms.h"

namespace tenon::python {
namespace {

// "carry leaf ['h']": how errors of the loops name a leaf.
std::vector<std::string> names_of(const TreeDef& tree) { return tree.names(); }

nb::object called(nb::handle f, std::initializer_list<nb::object> args) {
  std::vector<PyObject*> given;
  for (const nb::object& a : args) given.push_back(a.ptr());
  PyObject* result = PyObject_Vectorcall(f.ptr(), given.data(), given.size(), nullptr);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

std::optional<Checkpoints> checkpoints_from(nb::handle given) {
  return given.is_none() ? std::nullopt : std::optional(nb::cast<Checkpoints>(given));
}

nb::object scan(nb::handle f, nb::handle init, nb::handle xs, nb::handle length, bool reverse, std::int64_t unroll,
                nb::handle checkpoint) {
  return call_transformation("scan", [&] {
    const FlatTree carry = flat_arrays("scan", "the initial carry", init), elements = flat_arrays("scan", "xs", xs);
    TreeRef ys;
    api_detail::FlatLoop loop;
    std::optional<Dim> given;
    if (!length.is_none()) given = Dim(nb::cast<std::int64_t>(length));
    loop.length = api_detail::steps_of("scan", given, elements.leaves);
    loop.reverse = reverse;
    loop.unroll = unroll;
    loop.checkpoints = checkpoints_from(checkpoint);
    loop.carry_paths = names_of(*carry.tree);
    loop.xs_paths = names_of(*elements.tree);
    const std::size_t carries = carry.leaves.size();
    loop.body = [&](std::span<const Array> in) {
      const auto [next, y] = pair_of("scan", "the function returns", "(carry, y)",
                                     called(f, {unflatten_arrays(*carry.tree, in.first(carries)),
                                                unflatten_arrays(*elements.tree, in.subspan(carries))}));
      FlatTree out = flat_arrays("scan", "the carry that the function returns", next);
      require_same_tree("scan", "the initial carry and the one that the function returns", *carry.tree, *out.tree);
      const FlatTree stacked = flat_arrays("scan", "what the function returns to be stacked", y);
      ys = stacked.tree;
      out.leaves.insert(out.leaves.end(), stacked.leaves.begin(), stacked.leaves.end());
      return out.leaves;
    };
    const Arrays results = api_detail::run_loop("scan", loop, carry.leaves, elements.leaves);
    const std::span<const Array> all(results);
    return nb::make_tuple(unflatten_arrays(*carry.tree, all.first(carries)),
                          unflatten_arrays(*ys, all.subspan(carries)));
  });
}

nb::object while_loop(nb::handle cond, nb::handle body, nb::handle init, nb::handle checkpoints) {
  return call_transformation("while_loop", [&] {
    const FlatTree carry = flat_arrays("while_loop", "the initial value", init);
    api_detail::FlatLoop loop;
    if (!checkpoints.is_none())
      loop.checkpoints =
          api_detail::checkpoints("while_loop", CheckpointKind::binomial, nb::cast<std::int64_t>(checkpoints));
    loop.carry_paths = names_of(*carry.tree);
    loop.cond = [&](std::span<const Array> in) {
      FlatTree holds = flat_arrays("while_loop", "the condition", called(cond, {unflatten_arrays(*carry.tree, in)}));
      if (holds.leaves.size() != 1)
        throw TreeError(fmt::format("while_loop: the condition returns {} arrays, not one bool.", holds.leaves.size()),
                        "Return one bool.");
      return std::move(holds.leaves);
    };
    loop.body = [&](std::span<const Array> in) {
      FlatTree next =
          flat_arrays("while_loop", "what the body returns", called(body, {unflatten_arrays(*carry.tree, in)}));
      require_same_tree("while_loop", "the initial value and the one that the body returns", *carry.tree, *next.tree);
      return std::move(next.leaves);
    };
    return unflatten_arrays(*carry.tree, api_detail::run_loop("while_loop", loop, carry.leaves, {}));
  });
}

nb::object fori_loop(ArrayLike lower, ArrayLike upper, nb::handle body, nb::handle init, nb::handle checkpoint) {
  // Python's numbers are of the default integers.
  const auto bound = [](const ArrayLike& given) { return given.array("fori_loop").with_weak(false); };
  const Array from = bound(lower), to = bound(upper);
  return call_transformation("fori_loop", [&] {
    const FlatTree carry = flat_arrays("fori_loop", "the initial value", init);
    const auto step = [&](const Array& i, const Arrays& in) {
      FlatTree next = flat_arrays("fori_loop", "what the body returns",
                                  called(body, {array_object(i), unflatten_arrays(*carry.tree, in)}));
      require_same_tree("fori_loop", "the initial value and the one that the body returns", *carry.tree, *next.tree);
      return std::move(next.leaves);
    };
    const Arrays results = tenon::fori_loop(Operand(from, Source()), Operand(to, Source()), step, carry.leaves,
                                            {.checkpoint = checkpoints_from(checkpoint)}, SourceScope::current());
    return unflatten_arrays(*carry.tree, results);
  });
}

// Branches of one structure, called with the same operands.
nb::object choose(const char* op, const Array& index, const std::vector<nb::object>& branches, nb::args operands) {
  const FlatTree given = flat_arrays(op, "the operands", operands);
  std::vector<TreeRef> trees(branches.size());
  std::vector<FlatFunction> functions;
  for (std::size_t i = 0; i < branches.size(); ++i)
    functions.emplace_back([&, i](std::span<const Array> in) {
      const nb::object args = unflatten_arrays(*given.tree, in);
      PyObject* made = PyObject_CallObject(branches[i].ptr(), args.ptr());
      if (made == nullptr) throw nb::python_error();
      FlatTree result = flat_arrays(op, "what a branch returns", nb::steal(made));
      trees[i] = result.tree;
      return std::move(result.leaves);
    });
  const Arrays results = api_detail::run_cond(op, index, functions, given.leaves, [&] {
    for (const TreeRef& tree : trees) require_same_tree(op, "the results of the branches", *trees[0], *tree);
    return true;
  });
  return unflatten_arrays(*trees[0], results);
}

nb::object cond(ArrayLike predicate, nb::object on_true, nb::object on_false, nb::args operands) {
  const Array holds = predicate.array("cond");
  return call_transformation("cond", [&] {
    const Array index = convert(Operand(convert(Operand(holds, Source()), DType::bool_), Source()), DType::i32);
    return choose("cond", index, {std::move(on_false), std::move(on_true)}, operands);
  });
}

nb::object switch_(ArrayLike index, nb::handle branches, nb::args operands) {
  const Array number = index.array("switch");
  std::vector<nb::object> all;
  for (nb::handle branch : nb::iter(branches)) all.push_back(nb::borrow(branch));
  if (all.empty()) {
    PyErr_SetString(PyExc_ValueError, "switch: there is no branch.");
    throw nb::python_error();
  }
  return call_transformation("switch", [&] {
    return choose("switch", api_detail::branch_number(Operand(number, Source()), all.size()), all, operands);
  });
}

nb::object associative_scan(nb::handle f, nb::handle xs, bool reverse, std::int64_t axis) {
  return call_transformation("associative_scan", [&] {
    const FlatTree elements = flat_arrays("associative_scan", "the elements", xs);
    const std::size_t n = elements.leaves.size();
    const FlatFunction flat = [&](std::span<const Array> in) {
      FlatTree result = flat_arrays(
          "associative_scan", "what the function returns",
          called(f, {unflatten_arrays(*elements.tree, in.first(n)), unflatten_arrays(*elements.tree, in.subspan(n))}));
      require_same_tree("associative_scan", "the elements and what the function returns", *elements.tree, *result.tree);
      return std::move(result.leaves);
    };
    const Arrays results = api_detail::scan_associative(flat, elements.leaves, axis, reverse, names_of(*elements.tree));
    return unflatten_arrays(*elements.tree, results);
  });
}

}  // namespace

void add_loops(nb::module_& module) {
  nb::class_<Checkpoints>(module, "Checkpoints", "Which carries of a loop reverse mode keeps.");
  module.def("every", [](std::int64_t k) { return every(k); });
  module.def("binomial", [](std::int64_t n) { return binomial(n); });
  module.def("scan", scan);
  module.def("while_loop", while_loop);
  module.def("fori_loop", fori_loop);
  module.def("cond", cond);
  module.def("switch", switch_);
  module.def("associative_scan", associative_scan);
}

}  // namespace tenon::python
