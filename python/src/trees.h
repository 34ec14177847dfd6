// Trees of Python's containers: flattened, matched and built again in C++.
//
// A node is None, a tuple, list or dict (keys sorted), a namedtuple, or of a registered class; all else is a leaf.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "none.h"
#include "tenon/base/function_ref.h"

namespace tenon::python {

namespace nb = nanobind;

// How instances of a class are taken apart and made: by functions, or by the names of their fields.
struct Registration {
  nb::object type;
  nb::object flatten, unflatten;       // functions: (children, auxiliary), and back
  nb::object flatten_with_keys;        // may be none: children with their keys
  std::vector<nb::object> data, meta;  // or names
  bool by_fields = false;
};

struct Node {
  enum class Kind : std::uint8_t {
    leaf,
    none,
    tuple,
    list,
    dict,
    ordered_dict,
    default_dict,
    named_tuple,
    registered,
    reference  // a tn.Ref among the arguments of a function: part of the structure, and no leaf
  };
  Kind kind;
  std::uint32_t children = 0;
  std::uint32_t leaves = 1;  // below, or itself
  std::uint32_t nodes = 1;   // of the subtree, with itself: the next sibling stands so far behind
  // dict: tuple of keys; default_dict: (factory, keys); named_tuple: its class; reference; float0 where a leaf is of
  // that dtype, which an array of bools stands for
  nb::object data;
  nb::object auxiliary;  // of registered ones: what flatten returned beside the children, or the values of `meta`
  const Registration* registration = nullptr;
};

class TreeDef;
using TreeRef = std::shared_ptr<const TreeDef>;
using Objects = std::vector<nb::object>;

// The structure of a tree without its leaves. Nodes in preorder. Immutable.
class TreeDef {
 public:
  explicit TreeDef(std::vector<Node> nodes);

  std::span<const Node> nodes() const { return nodes_; }
  std::size_t leaves() const { return nodes_[0].leaves; }
  std::uint64_t hash() const { return hash_; }
  bool operator==(const TreeDef& other) const;

  // A new reference. `next`: the next leaf, each a new reference; where it has next.reference(), also what stands for
  // the next tn.Ref.
  template <class Next>
  PyObject* unflatten(Next&& next) const {
    const Node* at = nodes_.data();
    return build(at, next);
  }
  nb::object unflatten_objects(std::span<const nb::object> leaves) const;

  // The leaves of `tree` where it has this structure: leaf(object) for each, in order, which says whether it fits; and
  // leaf.reference(object), where there is that, for each tn.Ref, which has to be the same one else. What registered
  // classes are taken apart into is kept in `held`.
  template <class Leaf>
  bool match(PyObject* tree, Leaf&& leaf, Objects& held) const {
    const Node* at = nodes_.data();
    return match(tree, at, leaf, held);
  }
  // The subtrees of `tree` at the places of the leaves. Throws ValueError where it has not this structure above them.
  Objects flatten_up_to(nb::handle tree) const;

  // The same of a subtree that begins at a node; the node behind it is `at` afterwards.
  template <class Next>
  static PyObject* build(const Node*& at, Next& next);
  template <class Leaf>
  static bool match(PyObject* object, const Node*& at, Leaf& leaf, Objects& held);

  // The references in it, in order; and the same structure where any references stand in their places.
  Objects references() const;
  TreeRef without_references() const;
  // The same structure, whose static parts that are not hashable are copies: it stays as it is when those change.
  TreeRef with_own_statics() const;

  TreeRef child(std::size_t i) const;
  std::string text() const;
  std::vector<nb::tuple> paths() const;    // of the leaves: keys from the root
  std::vector<std::string> names() const;  // of the leaves, as Python writes them: "['w'][0].bias"

 private:
  static PyObject* assemble(const Node& node, PyObject* tuple);  // of its children; steals the tuple
  static bool match_registered(PyObject* object, const Node& node, nb::object& children);
  std::vector<Node> nodes_;
  std::uint64_t hash_;
  bool hashable_ = true;  // the static parts are; else they are compared alone
};

// The structure of a tree, and its leaves. Objects for which `is_leaf` (a function, or empty) holds are leaves; those
// of the class `references`, if it is given, are references.
TreeRef flatten(nb::handle tree, Objects& leaves, nb::handle is_leaf = {}, nb::handle references = {});
// Its root alone: the children are leaves, whatever they are.
TreeRef flatten_once(nb::handle tree, Objects& children);
// The tree whose leaves of these numbers are of the dtype float0.
TreeRef with_float0(const TreeDef& tree, std::span<const std::size_t> leaves);
// Zeros of NumPy's dtype float0, in the shape of an array, which is stolen; and an array in the place of such zeros,
// none where they are something else.
PyObject* float0_like(PyObject* array);
nb::object stand_in_of_float0(PyObject* zeros);
// Where a tree first is not as `above` says, as a sentence; empty where it has that structure above its leaves.
std::string difference(const TreeDef& above, const TreeDef& tree);
// A tree with one node of this kind above others.
TreeRef tuple_of(std::span<const TreeRef> children);

// Whether an object is a node with children, or None.
bool is_container(PyObject* object);
// Whether two values of Python's are equal; what is not comparable is not.
bool same_objects(PyObject* a, PyObject* b);
// The same of what is static. Throws TreeError where the comparison raises: `what` names the two.
bool compared(PyObject* a, PyObject* b, FunctionRef<std::string()> what);
// Of static arguments: 1, 1.0 and True are equal, and make other programs.
inline bool same_statics(PyObject* a, PyObject* b) {
  return Py_TYPE(a) == Py_TYPE(b) && (a == b || compared(a, b, [] { return std::string("two static arguments"); }));
}

// The registration of a class; null where it has none.
const Registration* registration_of(nb::handle type);
void add_registration(Registration r);  // throws ValueError where the class has one
// From here on class_of(object) is asked once for each class that is none of ours: as instances of which registered
// class its own are nodes, or None.
void set_foreign_classes(nb::object class_of);

// A structure as users hold it, and back.
nb::object treedef_object(TreeRef tree);
TreeRef treedef_of(nb::handle object);

void add_trees(nb::module_& module);

// --- definitions of templates ---

template <class Next>
PyObject* TreeDef::build(const Node*& at, Next& next) {
  const Node& node = *at++;
  if (node.kind == Node::Kind::leaf) return node.data ? float0_like(next()) : next();
  if (node.kind == Node::Kind::none) return Py_NewRef(Py_None);
  if (node.kind == Node::Kind::reference) {
    if constexpr (requires { next.reference(); }) return next.reference();
    return Py_NewRef(node.data.ptr());
  }
  if (node.kind == Node::Kind::list) {
    nb::object list = nb::steal(PyList_New(node.children));
    if (!list) throw nb::python_error();
    for (std::uint32_t i = 0; i < node.children; ++i) PyList_SET_ITEM(list.ptr(), i, build(at, next));
    return list.release().ptr();
  }
  if (node.kind == Node::Kind::dict) {
    nb::object dict = nb::steal(PyDict_New());
    if (!dict) throw nb::python_error();
    for (std::uint32_t i = 0; i < node.children; ++i) {
      const nb::object value = nb::steal(build(at, next));
      if (PyDict_SetItem(dict.ptr(), PyTuple_GET_ITEM(node.data.ptr(), i), value.ptr()) != 0) throw nb::python_error();
    }
    return dict.release().ptr();
  }
  nb::object tuple = nb::steal(PyTuple_New(node.children));
  if (!tuple) throw nb::python_error();
  for (std::uint32_t i = 0; i < node.children; ++i) PyTuple_SET_ITEM(tuple.ptr(), i, build(at, next));
  return node.kind == Node::Kind::tuple ? tuple.release().ptr() : assemble(node, tuple.release().ptr());
}

template <class Leaf>
bool TreeDef::match(PyObject* object, const Node*& at, Leaf& leaf, Objects& held) {
  const Node& node = *at++;
  switch (node.kind) {
    case Node::Kind::leaf: {
      if (!node.data) return leaf(object);
      nb::object stand_in = stand_in_of_float0(object);
      if (!stand_in) return false;
      held.push_back(stand_in);
      return leaf(stand_in.ptr());
    }
    case Node::Kind::none:
      return object == Py_None;
    case Node::Kind::reference:
      if constexpr (requires { leaf.reference(object); }) return leaf.reference(object);
      return object == node.data.ptr();
    case Node::Kind::tuple:
      if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) != node.children) return false;
      for (std::uint32_t i = 0; i < node.children; ++i)
        if (!match(PyTuple_GET_ITEM(object, i), at, leaf, held)) return false;
      return true;
    case Node::Kind::list:
      if (!PyList_CheckExact(object) || PyList_GET_SIZE(object) != node.children) return false;
      for (std::uint32_t i = 0; i < node.children; ++i)
        if (!match(PyList_GET_ITEM(object, i), at, leaf, held)) return false;
      return true;
    case Node::Kind::dict:
      if (!PyDict_CheckExact(object) || PyDict_GET_SIZE(object) != node.children) return false;
      for (std::uint32_t i = 0; i < node.children; ++i) {
        PyObject* value = PyDict_GetItemWithError(object, PyTuple_GET_ITEM(node.data.ptr(), i));
        if (value == nullptr) {
          if (PyErr_Occurred() != nullptr) throw nb::python_error();
          return false;
        }
        if (!match(value, at, leaf, held)) return false;
      }
      return true;
    default: {
      nb::object children;
      if (!match_registered(object, node, children)) return false;
      held.push_back(children);
      for (std::uint32_t i = 0; i < node.children; ++i)
        if (!match(PyTuple_GET_ITEM(children.ptr(), i), at, leaf, held)) return false;
      return true;
    }
  }
}

}  // namespace tenon::python
