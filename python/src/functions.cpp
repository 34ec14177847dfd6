#include "functions.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <numeric>

#include "dtypes.h"
#include "refs.h"
#include "shapes.h"
#include "source_lines.h"
#include "tenon/ops/structure/shape.h"
#include "text.h"

namespace tenon::python {
namespace {

nb::object float0() {
  static PyObject* const dtype = nb::object(nb::module_::import_("tenon._methods").attr("float0")).release().ptr();
  return nb::borrow(dtype);
}

bool is_float0(nb::handle object) {
  return !is_array(object.ptr()) && nb::hasattr(object, "dtype") &&
         same_objects(nb::object(object.attr("dtype")).ptr(), float0().ptr());
}

FlatTree flat(std::string_view op, const char* what, nb::handle tree, bool tangents) {
  FlatTree result;
  Objects leaves;
  std::vector<std::size_t> without_values;
  result.tree = flatten(tree, leaves, {}, reference_type());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    Array array;
    if (tangents && is_float0(leaves[i])) {
      result.leaves.emplace_back();
      continue;
    }
    if (!operand_from(leaves[i].ptr(), array)) {
      if (nb::object stand_in = stand_in_of_float0(leaves[i].ptr())) {
        without_values.push_back(i);
        result.leaves.push_back(array_of(stand_in.ptr()));
        continue;
      }
      const std::string name = result.tree->names()[i];
      throw DTypeError(
          fmt::format("{}: {}{} is {} of type {}, no array and no number.", op, what,
                      name.empty() ? "" : ", leaf " + name, repr_of(leaves[i]).substr(0, 60), class_of(leaves[i])),
          "Leaves are arrays and numbers. Pass what is static by static_argnums of jit, or by a closure.");
    }
    result.leaves.push_back(std::move(array));
  }
  if (!without_values.empty()) result.tree = with_float0(*result.tree, without_values);
  return result;
}

nb::object zeros_of_float0(nb::handle shape) { return nb::module_::import_("numpy").attr("zeros")(shape, float0()); }

void walk(const Node*& at, std::vector<std::size_t>& place, std::vector<std::vector<std::size_t>>& all) {
  const Node& node = *at++;
  if (node.kind == Node::Kind::leaf) all.push_back(place);
  for (std::uint32_t i = 0; i < node.children; ++i) {
    place.push_back(i);
    walk(at, place, all);
    place.pop_back();
  }
}

}  // namespace

TreeRef with_float0(const TreeDef& tree, std::span<const std::size_t> leaves) {
  std::vector<Node> nodes(tree.nodes().begin(), tree.nodes().end());
  std::size_t leaf = 0;
  for (Node& node : nodes)
    if (node.kind == Node::Kind::leaf && std::ranges::find(leaves, leaf++) != leaves.end()) node.data = float0();
  return std::make_shared<TreeDef>(std::move(nodes));
}

PyObject* float0_like(PyObject* stolen) {
  const nb::object array = nb::steal(stolen);
  return zeros_of_float0(array.attr("shape")).release().ptr();
}

nb::object stand_in_of_float0(PyObject* zeros) {
  if (!is_float0(zeros)) return {};
  const nb::object bools = nb::module_::import_("numpy").attr("zeros")(nb::handle(zeros).attr("shape"), "bool");
  return array_object(operand("float0", bools));
}

FlatTree flat_arrays(std::string_view op, const char* what, nb::handle tree) { return flat(op, what, tree, false); }
FlatTree flat_tangents(std::string_view op, const char* what, nb::handle tree) { return flat(op, what, tree, true); }

PyObject* tree_of_results(const TreeDef& tree, std::size_t count, Array** places, FunctionRef<void()> run) {
  nb::object one;
  Objects many;
  if (count == 1) {
    one = array_object(Array());
    places[0] = &array_of(one.ptr());
  } else {
    many.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      many.push_back(array_object(Array()));
      places[i] = &array_of(many[i].ptr());
    }
  }
  run();
  if (count == 1 && tree.nodes().size() == 1 && !tree.nodes()[0].data) return one.release().ptr();
  std::size_t i = 0;
  return tree.unflatten([&] { return (count == 1 ? one : many[i++]).inc_ref().ptr(); });
}

nb::object unflatten_arrays(const TreeDef& tree, std::span<const Array> leaves) {
  std::size_t i = 0;
  return nb::steal(tree.unflatten([&] { return new_array(leaves[i++]); }));
}

nb::object unflatten_tangents(const TreeDef& tree, std::span<const Array> leaves, std::span<const Type> like) {
  std::size_t i = 0;
  return nb::steal(tree.unflatten([&]() -> PyObject* {
    const std::size_t at = i++;
    if (!leaves[at].empty()) return new_array(leaves[at]);
    return zeros_of_float0(shape_object(like[at].shape)).release().ptr();
  }));
}

void refuse_references(std::string_view op, const char* what, const TreeDef& tree) {
  if (tree.references().empty()) return;
  throw TreeError(fmt::format("{}: {} holds a reference, which is no value: {}.", op, what, tree.text()),
                  "Read it, with r[...], or leave it outside: functions read and write references that they capture.");
}

void require_same_tree(std::string_view op, const char* what, const TreeDef& a, const TreeDef& b) {
  if (a == b) return;
  std::string where = difference(a, b);
  if (where.empty()) where = "at a leaf of the first there is more";
  throw TreeError(fmt::format("{}: {} differ in structure: {} and {}: {}.", op, what, a.text(), b.text(), where),
                  "Both have the same containers, keys and static values.");
}

std::vector<std::vector<std::size_t>> places_of(const TreeDef& tree) {
  std::vector<std::vector<std::size_t>> all;
  std::vector<std::size_t> place;
  const Node* at = tree.nodes().data();
  walk(at, place, all);
  return all;
}

std::vector<std::size_t> every_argument(const nb::tuple& args) {
  std::vector<std::size_t> all(args.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

std::vector<Type> types(std::span<const Array> arrays) {
  std::vector<Type> all;
  for (const Array& a : arrays) all.push_back(a.type());
  return all;
}

TreeRef tuple_of_arguments(const FlatCall& call) {
  std::vector<TreeRef> all;
  for (std::size_t i = 0; i < call.arguments(); ++i) all.push_back(std::make_shared<TreeDef>(call.argument(i)));
  return tuple_of(all);
}

FlatCall::FlatCall(std::string_view op, nb::object f, nb::tuple args, nb::dict kwargs, std::vector<std::size_t> traced,
                   bool keywords)
    : op_(op),
      f_(std::move(f)),
      args_(std::move(args)),
      kwargs_(std::move(kwargs)),
      traced_(std::move(traced)),
      keywords_(keywords && nb::len(kwargs_) > 0) {
  const auto add = [&](const std::string& what, nb::handle tree) {
    FlatTree t = flat_arrays(op_, what.c_str(), tree);
    arguments_.push_back(t.tree);
    leaves_.insert(leaves_.end(), t.leaves.begin(), t.leaves.end());
  };
  for (const std::size_t i : traced_) {
    if (i >= args_.size())
      throw TreeError(fmt::format("{}: there is no argument {}: the function is called with {}.", op_, i, args_.size()),
                      "Arguments are counted from 0; those by keyword have no number.");
    add(fmt::format("argument {}", i), args_[i]);
  }
  if (keywords_) add("a keyword's argument", kwargs_);
}

nb::object FlatCall::call(std::span<const Array> leaves) const {
  nb::object args = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(args_.size())));
  std::size_t at = 0, next = 0;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    nb::object value;
    if (next < traced_.size() && traced_[next] == i) {
      const TreeDef& tree = *arguments_[next++];
      value = unflatten_arrays(tree, leaves.subspan(at, tree.leaves()));
      at += tree.leaves();
    } else {
      value = args_[i];
    }
    PyTuple_SET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i), value.release().ptr());
  }
  const nb::object kwargs = keywords_
                                ? unflatten_arrays(*arguments_.back(), leaves.subspan(at, arguments_.back()->leaves()))
                                : nb::object(kwargs_);
  PyObject* result = PyObject_Call(f_.ptr(), args.ptr(), PyDict_GET_SIZE(kwargs.ptr()) == 0 ? nullptr : kwargs.ptr());
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

std::pair<nb::object, nb::object> pair_of(std::string_view op, const char* who, const char* parts, nb::handle result) {
  if (!PyTuple_Check(result.ptr()) || PyTuple_GET_SIZE(result.ptr()) != 2) {
    const std::string text = fmt::format("{}: {} a tuple of two, {}, not {}.", op, who, parts, class_of(result));
    PyErr_SetString(PyExc_TypeError, text.c_str());
    throw nb::python_error();
  }
  return {nb::borrow(PyTuple_GET_ITEM(result.ptr(), 0)), nb::borrow(PyTuple_GET_ITEM(result.ptr(), 1))};
}

Arrays FlatCall::operator()(std::span<const Array> in) const {
  const nb::object result = call(in);
  if (pair_) pair_of(op_, "with has_aux the function returns", "(result, auxiliary)", result);
  FlatTree flat = flat_arrays(op_, "what the function returns", result);
  *result_ = {flat.tree, {}};
  for (const Array& a : flat.leaves) result_->types.push_back(a.type());
  return std::move(flat.leaves);
}

std::vector<std::string> FlatCall::Paths::operator()() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < of.arguments_.size(); ++i)
    for (const std::string& name : of.arguments_[i]->names())
      all.push_back(i < of.traced_.size() ? fmt::format("<{}>{}", of.traced_[i], name) : "<by keyword>" + name);
  return all;
}

api_detail::Arguments FlatCall::all() const { return {leaves_, std::vector<bool>(leaves_.size(), true), paths()}; }

std::vector<std::vector<std::size_t>> FlatCall::places() const {
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    for (std::vector<std::size_t> place : places_of(*arguments_[i])) {
      place.insert(place.begin(), i);
      all.push_back(std::move(place));
    }
  return all;
}

}  // namespace tenon::python
