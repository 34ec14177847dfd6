// Loops and branches over trees of Python's: scan, while_loop, fori_loop, cond, switch, associative_scan.

#include "tenon/api/loops.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <utility>

#include "call.h"
#include "functions.h"
#include "lists.h"
#include "rooms.h"
#include "shapes.h"

namespace tenon::python {
namespace {

nb::object called(nb::handle f, std::initializer_list<nb::object> args) {
  std::vector<PyObject*> given;
  for (const nb::object& a : args) given.push_back(a.ptr());
  PyObject* result = PyObject_Vectorcall(f.ptr(), given.data(), given.size(), nullptr);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

// The carry of a loop: its structure, which what a step returns has too.
class Carry {
 public:
  // Names the carry's leaves in the loop.
  Carry(const char* op, nb::handle init, const LoopStep& step, api_detail::FlatLoop& loop, const Arrays& xs) : op_(op) {
    const nb::object typed = with_types_of_step(op, init, step, loop, xs);
    note_types(typed, types_);
    flat_ = flat_arrays(op, "the initial carry", typed);
    loop.carry_paths = flat_.tree->names();
  }
  const Arrays& leaves() const { return flat_.leaves; }
  nb::object object(std::span<const Array> leaves) const { return unflatten_arrays(*flat_.tree, leaves); }
  // What a step has returned; its lists without a type are those of the initial carry.
  Arrays next(const nb::object& returned) const {
    FlatTree next = flat_arrays(op_, "the carry that the function returns",
                                types_.empty() ? returned : with_types(returned, types_));
    require_same_tree(op_, "the initial carry and the one that the function returns", *flat_.tree, *next.tree);
    return std::move(next.leaves);
  }

 private:
  const char* op_;
  FlatTree flat_;
  ElementTypes types_;
};

std::optional<Checkpoints> checkpoints_from(nb::handle given) {
  return given.is_none() ? std::nullopt : std::optional(nb::cast<Checkpoints>(given));
}

nb::object scan(nb::handle f, nb::handle init, nb::handle xs, nb::handle length, bool reverse, std::int64_t unroll,
                nb::handle checkpoint) {
  return call_transformation("scan", [&] {
    const FlatTree elements = flat_arrays("scan", "xs", xs);
    TreeRef ys;
    api_detail::FlatLoop loop;
    std::optional<Dim> given;
    if (!length.is_none()) given = dim_from(length);
    loop.length = api_detail::steps_of("scan", given, elements.leaves);
    loop.reverse = reverse;
    loop.unroll = unroll;
    loop.checkpoints = checkpoints_from(checkpoint);
    loop.xs_paths = elements.tree->names();
    FlatTree stacked;
    const auto step = [&](const nb::object& c, std::span<const Array> in) {
      const auto [next, y] =
          pair_of("scan", "the function returns", "(carry, y)", called(f, {c, unflatten_arrays(*elements.tree, in)}));
      stacked = flat_arrays("scan", "what the function returns to be stacked", y);
      for (const Array& a : stacked.leaves)
        if (!a.type().is_array()) api_detail::throw_list_in_ys();
      return next;
    };
    const Carry carry("scan", init, step, loop, elements.leaves);
    const std::size_t carries = carry.leaves().size();
    const auto stacking = [&](std::span<const Array> in) {
      Arrays out = carry.next(step(carry.object(in.first(carries)), in.subspan(carries)));
      ys = stacked.tree;
      out.insert(out.end(), stacked.leaves.begin(), stacked.leaves.end());
      return out;
    };
    loop.body = FlatFunction(stacking);
    const Arrays results = api_detail::run_loop("scan", loop, carry.leaves(), elements.leaves);
    const std::span<const Array> all(results);
    return nb::make_tuple(carry.object(all.first(carries)), unflatten_arrays(*ys, all.subspan(carries)));
  });
}

nb::object while_loop(nb::handle cond, nb::handle body, nb::handle init, nb::handle checkpoints) {
  return call_transformation("while_loop", [&] {
    api_detail::FlatLoop loop;
    if (!checkpoints.is_none())
      loop.checkpoints =
          api_detail::checkpoints("while_loop", CheckpointKind::binomial, nb::cast<std::int64_t>(checkpoints));
    const auto step = [&](const nb::object& c, std::span<const Array>) { return called(body, {c}); };
    const Carry carry("while_loop", init, step, loop, {});
    const auto holds = [&](std::span<const Array> in) {
      FlatTree told = flat_arrays("while_loop", "the condition", called(cond, {carry.object(in)}));
      if (told.leaves.size() != 1)
        throw TreeError(fmt::format("while_loop: the condition returns {} arrays, not one bool.", told.leaves.size()),
                        "Return one bool.");
      return std::move(told.leaves);
    };
    const auto next = [&](std::span<const Array> in) { return carry.next(step(carry.object(in), {})); };
    loop.cond = FlatFunction(holds), loop.body = FlatFunction(next);
    return carry.object(api_detail::run_loop("while_loop", loop, carry.leaves(), {}));
  });
}

nb::object fori_loop(ArrayLike lower, ArrayLike upper, nb::handle body, nb::handle init, nb::handle checkpoint) {
  // Python's numbers are of the default integers.
  const auto bound = [](const ArrayLike& given) { return given.array("fori_loop").with_weak(false); };
  const Array from = bound(lower), to = bound(upper);
  const bool weak = lower.array("fori_loop").weak() && upper.array("fori_loop").weak();  // the index too
  return call_transformation("fori_loop", [&] {
    const auto step = [&](const nb::object& c, std::span<const Array> i) {
      return called(body, {array_object(i[0]), c});
    };
    const api_detail::ForiBounds bounds = api_detail::fori_bounds(Operand(from, Source()), Operand(to, Source()));
    api_detail::FlatLoop along;
    const Carry carry("fori_loop", init, step, along, {bounds.lower});
    const Arrays results = tenon::fori_loop(
        Operand(from, Source()), Operand(to, Source()),
        [&](const Array& i, const Arrays& in) {
          const Array counted = i.with_weak(weak);
          return carry.next(step(carry.object(in), std::span(&counted, 1)));
        },
        carry.leaves(), {.checkpoint = checkpoints_from(checkpoint)}, SourceScope::current());
    return carry.object(results);
  });
}

// Branches of one structure, called with the same operands.
nb::object choose(const char* op, const Array& index, const std::vector<nb::object>& branches, nb::args operands) {
  const FlatTree given = flat_arrays(op, "the operands", operands);
  std::vector<TreeRef> trees(branches.size());
  ElementTypes types;  // of lists in the results, as far as some branch tells
  bool again = false;
  const auto call = [&](std::size_t i, std::span<const Array> in) {
    const nb::object args = unflatten_arrays(*given.tree, in);
    PyObject* made = PyObject_CallObject(branches[i].ptr(), args.ptr());
    if (made == nullptr) throw nb::python_error();
    const nb::object returned = nb::steal(made);
    note_types(returned, types);
    FlatTree result = flat_arrays(op, "what a branch returns", types.empty() ? returned : with_types(returned, types));
    trees[i] = result.tree;
    return std::move(result.leaves);
  };
  const auto numbered = [&](std::size_t i) { return [&call, i](std::span<const Array> in) { return call(i, in); }; };
  std::vector<decltype(numbered(0))> calls;
  for (std::size_t i = 0; i < branches.size(); ++i) calls.push_back(numbered(i));
  const std::vector<FlatFunction> functions(calls.begin(), calls.end());
  const Arrays results = api_detail::run_cond(op, index, functions, given.leaves, [&] {
    const bool same = std::ranges::all_of(trees, [&](const TreeRef& tree) { return *tree == *trees[0]; });
    if (!same && !types.empty() && !std::exchange(again, true)) return false;
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
    const auto flat = [&](std::span<const Array> in) {
      FlatTree result = flat_arrays(
          "associative_scan", "what the function returns",
          called(f, {unflatten_arrays(*elements.tree, in.first(n)), unflatten_arrays(*elements.tree, in.subspan(n))}));
      require_same_tree("associative_scan", "the elements and what the function returns", *elements.tree, *result.tree);
      return std::move(result.leaves);
    };
    const Arrays results = api_detail::scan_associative(flat, elements.leaves, axis, reverse, elements.tree->names());
    return unflatten_arrays(*elements.tree, results);
  });
}

}  // namespace

void add_loops(nb::module_& module) {
  const nb::class_<Checkpoints> type(module, "Checkpoints", "Which carries of a loop reverse mode keeps.");
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
