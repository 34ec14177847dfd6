// tenon._core.tree: what tenon.tree and tenon.tree_util are made of.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "functions.h"
#include "tenon/api/raveling.h"
#include "trees.h"

namespace tenon::python {

namespace {

// From vectors to trees.
struct Unraveling {
  TreeRef tree;
  api_detail::Raveling raveling;
};

nb::tuple ravel_pytree(nb::handle given) {
  const FlatTree flat = flat_arrays("ravel_pytree", "the tree", given);
  const auto names = [&] { return flat.tree->names(); };
  std::optional<api_detail::Raveling> raveling;
  const Array vector = call_op("ravel_pytree", [&] {
    raveling = api_detail::Raveling::of_any("ravel_pytree", "the tree", flat.leaves, names);
    return raveling->vector(flat.leaves).with_weak(false);
  });
  return nb::make_tuple(array_object(vector), Unraveling{flat.tree, *raveling});
}
nb::object unravel(const Unraveling& back, ArrayLike vector) {
  const Array given = vector.array("unravel");
  const Arrays leaves = call_op("unravel", [&] { return back.raveling.leaves_of_vector("unravel", given); });
  return unflatten_arrays(*back.tree, leaves);
}

// A treedef as users hold it.
struct PyTreeDef {
  TreeRef tree;
};

nb::tuple tree_flatten(nb::handle tree, nb::handle is_leaf) {
  Objects leaves;
  const TreeRef def = flatten(tree, leaves, is_leaf);
  nb::list all;
  for (const nb::object& leaf : leaves) all.append(leaf);
  return nb::make_tuple(all, PyTreeDef{def});
}

nb::object tree_unflatten(const PyTreeDef& def, nb::handle leaves) {
  Objects all;
  for (nb::handle leaf : nb::iter(leaves)) all.push_back(nb::borrow(leaf));
  return def.tree->unflatten_objects(all);
}

nb::object tree_map(nb::handle f, nb::handle tree, nb::tuple rest, nb::handle is_leaf) {
  Objects leaves;
  const TreeRef def = flatten(tree, leaves, is_leaf);
  std::vector<Objects> others;
  for (nb::handle other : rest) others.push_back(def->flatten_up_to(other));
  std::vector<PyObject*> given(1 + others.size());
  std::size_t i = 0;
  return nb::steal(def->unflatten([&] {
    given[0] = leaves[i].ptr();
    for (std::size_t k = 0; k < others.size(); ++k) given[k + 1] = others[k][i].ptr();
    ++i;
    PyObject* made = PyObject_Vectorcall(f.ptr(), given.data(), given.size(), nullptr);
    if (made == nullptr) throw nb::python_error();
    return made;
  }));
}

nb::list tree_leaves(nb::handle tree, nb::handle is_leaf) {
  Objects leaves;
  flatten(tree, leaves, is_leaf);
  nb::list all;
  for (const nb::object& leaf : leaves) all.append(leaf);
  return all;
}

std::vector<nb::object> names_from(nb::handle names) {
  std::vector<nb::object> all;
  for (nb::handle name : nb::iter(names)) {
    PyObject* text = Py_NewRef(name.ptr());
    PyUnicode_InternInPlace(&text);
    all.push_back(nb::steal(text));
  }
  return all;
}

// The nodes of a structure, the root first: (kind, number of children, data, static parts, class), for those who store
// it.
nb::list nodes_of(const PyTreeDef& d) {
  nb::list all;
  const auto or_none = [](const nb::object& held) { return held ? held : nb::none(); };
  for (const Node& n : d.tree->nodes()) {
    const nb::object type = n.registration == nullptr ? nb::none() : n.registration->type;
    all.append(nb::make_tuple(static_cast<int>(n.kind), n.children, or_none(n.data), or_none(n.auxiliary), type));
  }
  return all;
}

[[noreturn]] void throw_no_structure() { throw nb::value_error("PyTreeDef: these are not the nodes of a structure."); }

// Whether a node has what is beside its children.
bool complete(const Node& n) {
  const auto is_keys = [&](PyObject* keys) {
    return PyTuple_Check(keys) && PyTuple_GET_SIZE(keys) == static_cast<Py_ssize_t>(n.children);
  };
  switch (n.kind) {
    case Node::Kind::leaf:
    case Node::Kind::none:
      return n.children == 0;
    case Node::Kind::tuple:
    case Node::Kind::list:
      return true;
    case Node::Kind::dict:
    case Node::Kind::ordered_dict:
      return is_keys(n.data.ptr());
    case Node::Kind::default_dict:
      return PyTuple_Check(n.data.ptr()) && PyTuple_GET_SIZE(n.data.ptr()) == 2 &&
             is_keys(PyTuple_GET_ITEM(n.data.ptr(), 1));
    case Node::Kind::named_tuple:
      return PyType_Check(n.data.ptr());
    case Node::Kind::registered:
      return n.registration != nullptr &&
             (!n.registration->by_fields ||
              (n.registration->data.size() == n.children && PyTuple_Check(n.auxiliary.ptr()) &&
               PyTuple_GET_SIZE(n.auxiliary.ptr()) == static_cast<Py_ssize_t>(n.registration->meta.size())));
    case Node::Kind::reference:
      return false;
  }
  return false;
}

PyTreeDef from_nodes(nb::handle given) {
  std::vector<Node> nodes;
  for (nb::handle each : nb::iter(given)) {
    const auto parts = nb::cast<nb::tuple>(each);
    if (parts.size() != 5) throw_no_structure();
    const int kind = nb::cast<int>(parts[0]);
    if (kind < 0 || kind >= static_cast<int>(Node::Kind::reference)) throw_no_structure();
    Node n{.kind = static_cast<Node::Kind>(kind), .children = nb::cast<std::uint32_t>(parts[1]), .leaves = 0};
    if (!parts[2].is_none()) n.data = nb::borrow(parts[2]);
    if (!parts[4].is_none()) n.registration = registration_of(parts[4]);
    if (n.kind == Node::Kind::registered) n.auxiliary = nb::borrow(parts[3]);
    if ((!n.data && n.kind >= Node::Kind::dict && n.kind <= Node::Kind::named_tuple) || !complete(n))
      throw_no_structure();
    nodes.push_back(std::move(n));
  }
  std::vector<const Node*> above;  // subtrees behind the node, the next one last
  for (std::size_t i = nodes.size(); i-- > 0;) {
    Node& n = nodes[i];
    if (above.size() < n.children) throw_no_structure();
    n.nodes = 1, n.leaves = n.kind == Node::Kind::leaf ? 1 : 0;
    for (std::uint32_t k = 0; k < n.children; ++k) {
      n.nodes += above.back()->nodes, n.leaves += above.back()->leaves;
      above.pop_back();
    }
    above.push_back(&n);
  }
  if (above.size() != 1) throw_no_structure();
  return {std::make_shared<TreeDef>(std::move(nodes))};
}

}  // namespace

nb::object treedef_object(TreeRef tree) { return nb::cast(PyTreeDef{std::move(tree)}); }
TreeRef treedef_of(nb::handle object) { return nb::cast<const PyTreeDef&>(object).tree; }

void add_trees(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("tree");
  nb::class_<PyTreeDef>(module, "PyTreeDef", "The structure of a tree, without its leaves.")
      .def_prop_ro("num_leaves", [](const PyTreeDef& d) { return d.tree->leaves(); })
      .def_prop_ro("num_nodes", [](const PyTreeDef& d) { return d.tree->nodes().size(); })
      .def("unflatten", tree_unflatten, nb::arg("leaves"))
      .def(
          "flatten_up_to",
          [](const PyTreeDef& d, nb::handle tree) {
            nb::list all;
            for (const nb::object& subtree : d.tree->flatten_up_to(tree)) all.append(subtree);
            return all;
          },
          nb::arg("tree"))
      .def("children",
           [](const PyTreeDef& d) {
             nb::list all;
             for (std::size_t i = 0; i < d.tree->nodes()[0].children; ++i) all.append(PyTreeDef{d.tree->child(i)});
             return all;
           })
      .def("nodes", nodes_of)
      .def_static("from_nodes", from_nodes, nb::arg("nodes"))
      .def("names", [](const PyTreeDef& d) { return d.tree->names(); })
      .def("paths",
           [](const PyTreeDef& d) {
             nb::list all;
             for (const nb::tuple& path : d.tree->paths()) all.append(path);
             return all;
           })
      .def("__repr__", [](const PyTreeDef& d) { return "PyTreeDef(" + d.tree->text() + ")"; })
      .def("__hash__", [](const PyTreeDef& d) { return static_cast<std::int64_t>(d.tree->hash() >> 1); })
      .def("__eq__", [](const PyTreeDef& a, nb::handle b) {
        return nb::isinstance<PyTreeDef>(b) && *a.tree == *nb::cast<const PyTreeDef&>(b).tree;
      });
  nb::class_<Unraveling>(module, "Unraveling", "The function back of ravel_pytree.").def("__call__", unravel);
  module.def("ravel_pytree", ravel_pytree);
  module.def("flatten", tree_flatten, nb::arg("tree"), nb::arg("is_leaf") = nb::none());
  module.def("unflatten", tree_unflatten, nb::arg("treedef"), nb::arg("leaves"));
  module.def("leaves", tree_leaves, nb::arg("tree"), nb::arg("is_leaf") = nb::none());
  module.def("map", tree_map, nb::arg("f"), nb::arg("tree"), nb::arg("rest"), nb::arg("is_leaf") = nb::none());
  module.def(
      "register_node",
      [](nb::object type, nb::object flatten, nb::object unflatten) {
        add_registration({.type = type, .flatten = flatten, .unflatten = unflatten});
      },
      nb::arg("nodetype"), nb::arg("flatten_func"), nb::arg("unflatten_func"));
  module.def("set_foreign_classes", set_foreign_classes, nb::arg("class_of"));
  module.def(
      "register_fields",
      [](nb::object type, nb::handle data, nb::handle meta) {
        add_registration({.type = type, .data = names_from(data), .meta = names_from(meta), .by_fields = true});
      },
      nb::arg("nodetype"), nb::arg("data_fields"), nb::arg("meta_fields"));
}

}  // namespace tenon::python
