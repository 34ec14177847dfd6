#include "trees.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/base/function_ref.h"
#include "tenon/base/hash.h"
#include "text.h"

namespace tenon::python {
namespace {

using Kind = Node::Kind;

// Classes by their address; Python's, never freed.
std::unordered_map<PyObject*, Registration>& registrations() {
  static auto* all = new std::unordered_map<PyObject*, Registration>();
  return *all;
}

// A function of an object that tells the registered class as whose instances those of its class are nodes, which it may
// register then, or None; and what it has told of each class, which stays.
PyObject* foreign_classes = nullptr;
const Registration* foreign_registration_of(PyObject* object) {
  static auto* told = new std::unordered_map<PyObject*, const Registration*>();
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  const auto [at, first] = told->emplace(type, nullptr);
  if (!first) return at->second;
  Py_INCREF(type);
  const nb::object as = nb::handle(foreign_classes)(nb::handle(object));
  const Registration* registration = as.is_none() ? nullptr : registration_of(as);
  return (*told)[type] = registration;
}

PyObject* ordered_dict_type() {
  static PyObject* type = nb::object(nb::module_::import_("collections").attr("OrderedDict")).release().ptr();
  return type;
}
PyObject* default_dict_type() {
  static PyObject* type = nb::object(nb::module_::import_("collections").attr("defaultdict")).release().ptr();
  return type;
}

bool is_named_tuple(PyObject* object) {
  return PyTuple_Check(object) && !PyTuple_CheckExact(object) && PyObject_HasAttrString(object, "_fields") != 0;
}

Kind kind_of(PyObject* object, const Registration*& registration) {
  registration = nullptr;
  if (object == Py_None) return Kind::none;
  PyTypeObject* const type = Py_TYPE(object);
  if (type == &PyTuple_Type) return Kind::tuple;
  if (type == &PyList_Type) return Kind::list;
  if (type == &PyDict_Type) return Kind::dict;
  registration = registration_of(nb::handle(reinterpret_cast<PyObject*>(type)));
  if (registration != nullptr) return Kind::registered;
  if (reinterpret_cast<PyObject*>(type) == ordered_dict_type()) return Kind::ordered_dict;
  if (reinterpret_cast<PyObject*>(type) == default_dict_type()) return Kind::default_dict;
  if (is_named_tuple(object)) return Kind::named_tuple;
  if (foreign_classes != nullptr) registration = foreign_registration_of(object);
  return registration == nullptr ? Kind::leaf : Kind::registered;
}

nb::object sorted_keys(PyObject* dict) {
  nb::object keys = nb::steal(PyDict_Keys(dict));
  if (!keys || PyList_Sort(keys.ptr()) != 0) throw nb::python_error();
  return nb::steal(PyList_AsTuple(keys.ptr()));
}

nb::tuple as_tuple(nb::handle iterable) {
  PyObject* tuple = PySequence_Tuple(iterable.ptr());
  if (tuple == nullptr) throw nb::python_error();
  return nb::steal<nb::tuple>(tuple);
}

[[noreturn]] void throw_no_parts(PyObject* object, nb::handle made, const char* wanted) {
  throw TreeError(fmt::format("trees: the function that takes {} apart returns {}, not {}.", class_of(object),
                              repr_of(made).substr(0, 60), wanted),
                  "It was given to register_pytree_node() or its kin, or is the method tree_flatten.");
}

// The children of a registered object, and what it is beside them.
nb::tuple taken_apart(PyObject* object, const Registration& r, nb::object& auxiliary) {
  if (!r.by_fields) {
    const nb::object made = r.flatten(nb::handle(object));
    const bool pair = (PyTuple_Check(made.ptr()) || PyList_Check(made.ptr())) && nb::len(made) == 2;
    if (!pair) throw_no_parts(object, made, "(children, auxiliary)");
    auxiliary = made[1];
    const nb::object children = made[0];
    if (Py_TYPE(children.ptr())->tp_iter == nullptr && !PySequence_Check(children.ptr()))
      throw_no_parts(object, made, "(children, auxiliary), where children can be iterated over");
    return as_tuple(children);
  }
  const auto values = [&](const std::vector<nb::object>& names) {
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
    for (std::size_t i = 0; i < names.size(); ++i) {
      PyObject* value = PyObject_GetAttr(object, names[i].ptr());
      if (value == nullptr) throw nb::python_error();
      PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), value);
    }
    return nb::borrow<nb::tuple>(tuple);
  };
  auxiliary = values(r.meta);
  return values(r.data);
}

// Of every other kind with children: those, and what the structure keeps of it.
nb::tuple children_of(PyObject* object, Kind kind, nb::object& data) {
  switch (kind) {
    case Kind::dict:
    case Kind::default_dict:
    case Kind::ordered_dict: {
      const nb::object keys =
          kind == Kind::ordered_dict ? nb::object(as_tuple(nb::handle(object))) : sorted_keys(object);
      const Py_ssize_t count = PyTuple_GET_SIZE(keys.ptr());
      nb::object children = nb::steal(PyTuple_New(count));
      for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* value = PyDict_GetItemWithError(object, PyTuple_GET_ITEM(keys.ptr(), i));
        if (value == nullptr) throw nb::python_error();
        PyTuple_SET_ITEM(children.ptr(), i, Py_NewRef(value));
      }
      data = kind == Kind::default_dict ? nb::object(nb::make_tuple(nb::handle(object).attr("default_factory"), keys))
                                        : keys;
      return nb::borrow<nb::tuple>(children);
    }
    case Kind::named_tuple:
      data = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      return nb::borrow<nb::tuple>(object);
    default:
      return as_tuple(nb::handle(object));
  }
}

// The node of an object, and its children.
nb::tuple node_of(PyObject* object, Node& node) {
  node.kind = kind_of(object, node.registration);
  if (node.kind == Kind::leaf || node.kind == Kind::none) return nb::make_tuple();
  nb::tuple children = node.kind == Kind::registered ? taken_apart(object, *node.registration, node.auxiliary)
                                                     : children_of(object, node.kind, node.data);
  node.children = static_cast<std::uint32_t>(children.size());
  return children;
}

void flatten_into(PyObject* object, std::vector<Node>& nodes, Objects& leaves, nb::handle is_leaf,
                  nb::handle references) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) == references.ptr()) {
    nodes.push_back({.kind = Kind::reference, .leaves = 0, .data = nb::borrow(object)});
    return;
  }
  const std::size_t at = nodes.size();
  const std::size_t before = leaves.size();
  if (is_leaf.is_valid() && !is_leaf.is_none() && nb::cast<bool>(nb::object(is_leaf(nb::handle(object))))) {
    nodes.push_back({.kind = Kind::leaf});
    leaves.push_back(nb::borrow(object));
    return;
  }
  Node node{.kind = Kind::leaf};
  const nb::tuple children = node_of(object, node);
  nodes.push_back(node);
  if (node.kind == Kind::leaf) {
    leaves.push_back(nb::borrow(object));
    return;
  }
  if (Py_EnterRecursiveCall(" in a tree") != 0) throw nb::python_error();
  struct Leave {
    ~Leave() { Py_LeaveRecursiveCall(); }
  } const leave;
  for (nb::handle child : children) flatten_into(child.ptr(), nodes, leaves, is_leaf, references);
  nodes[at].leaves = static_cast<std::uint32_t>(leaves.size() - before);
  nodes[at].nodes = static_cast<std::uint32_t>(nodes.size() - at);
}

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.children != b.children || a.registration != b.registration) return false;
  if (a.data.ptr() != b.data.ptr() && !(a.data && b.data && same_objects(a.data.ptr(), b.data.ptr()))) return false;
  if (a.auxiliary.ptr() == b.auxiliary.ptr()) return true;
  return a.auxiliary && b.auxiliary && compared(a.auxiliary.ptr(), b.auxiliary.ptr(), [&] {
           return "the static parts of two nodes of the class " + str_of(a.registration->type.attr("__qualname__"));
         });
}

std::optional<Py_hash_t> hash_of(const nb::object& value) {
  const Py_hash_t hash = PyObject_Hash(value.ptr());
  if (hash != -1) return hash;
  PyErr_Clear();
  return std::nullopt;
}

nb::tuple keys_of(const Node& node) {
  switch (node.kind) {
    case Kind::dict:
    case Kind::ordered_dict:
      return nb::borrow<nb::tuple>(node.data);
    case Kind::default_dict:
      return nb::borrow<nb::tuple>(nb::borrow<nb::tuple>(node.data)[1]);
    case Kind::named_tuple:
      return nb::borrow<nb::tuple>(nb::object(node.data.attr("_fields")));
    default:
      return nb::tuple();
  }
}

// The key of a child, as the classes of tenon.tree_util say it: DictKey, SequenceKey, GetAttrKey, FlattenedIndexKey.
nb::object key_of(const Node& node, std::uint32_t i) {
  static PyObject* const keys = nb::module_::import_("tenon._keys").release().ptr();
  const nb::handle classes(keys);
  switch (node.kind) {
    case Kind::dict:
    case Kind::ordered_dict:
    case Kind::default_dict:
      return classes.attr("DictKey")(keys_of(node)[i]);
    case Kind::named_tuple:
      return classes.attr("GetAttrKey")(keys_of(node)[i]);
    case Kind::registered:
      if (node.registration->by_fields) return classes.attr("GetAttrKey")(node.registration->data[i]);
      return classes.attr("FlattenedIndexKey")(i);
    default:
      return classes.attr("SequenceKey")(i);
  }
}

std::string described(const Node& node) {
  const auto of_class = [](nb::handle type) { return str_of(nb::object(type.attr("__qualname__"))); };
  std::string keys;
  for (nb::handle key : keys_of(node)) keys += (keys.empty() ? "" : ", ") + repr_of(key);
  switch (node.kind) {
    case Kind::leaf:
      return "a leaf";
    case Kind::reference:
      return "a reference";
    case Kind::none:
      return "None";
    case Kind::tuple:
      return fmt::format("a tuple of {}", node.children);
    case Kind::list:
      return fmt::format("a list of {}", node.children);
    case Kind::dict:
      return fmt::format("a dict with the keys [{}]", keys);
    case Kind::ordered_dict:
      return fmt::format("an OrderedDict with the keys [{}]", keys);
    case Kind::default_dict:
      return fmt::format("a defaultdict with the keys [{}]", keys);
    case Kind::named_tuple:
      return "the namedtuple " + of_class(node.data);
    case Kind::registered:
      return fmt::format("a node of the class {} with {} children and the static part {}",
                         of_class(node.registration->type), node.children, repr_of(node.auxiliary).substr(0, 60));
  }
  return "";
}

// Both are behind the subtree afterwards, unless a difference was found.
void find_difference(const Node*& above, const Node*& tree, const std::string& path, std::string& found) {
  const Node &x = *above, &y = *tree;
  if (x.kind == Kind::leaf) {
    ++above, tree += y.nodes;
    return;
  }
  if (!same(x, y)) {
    found =
        fmt::format("{}{} is wanted, and {} given", path.empty() ? "" : "at " + path + " ", described(x), described(y));
    return;
  }
  ++above, ++tree;
  for (std::uint32_t i = 0; i < x.children && found.empty(); ++i)
    find_difference(above, tree, path + str_of(key_of(x, i)), found);
}

void walk_paths(const Node*& at, std::vector<nb::object>& path, FunctionRef<void()> leaf) {
  const Node& node = *at++;
  if (node.kind == Kind::leaf) return leaf();
  for (std::uint32_t i = 0; i < node.children; ++i) {
    path.push_back(key_of(node, i));
    walk_paths(at, path, leaf);
    path.pop_back();
  }
}

std::string text_of(const Node*& at) {
  const Node& node = *at++;
  std::string children;
  const nb::tuple keys = node.kind == Kind::dict || node.kind == Kind::ordered_dict || node.kind == Kind::default_dict
                             ? keys_of(node)
                             : nb::tuple();
  for (std::uint32_t i = 0; i < node.children; ++i) {
    if (i > 0) children += ", ";
    if (keys.is_valid() && i < keys.size()) children += repr_of(keys[i]) + ": ";
    children += text_of(at);
  }
  const auto name = [](nb::handle type) { return str_of(nb::object(type.attr("__name__"))); };
  switch (node.kind) {
    case Kind::leaf:
      return "*";
    case Kind::reference:
      return "Ref";
    case Kind::none:
      return "None";
    case Kind::tuple:
      return "(" + children + (node.children == 1 ? ",)" : ")");
    case Kind::list:
      return "[" + children + "]";
    case Kind::dict:
      return "{" + children + "}";
    case Kind::ordered_dict:
      return "OrderedDict({" + children + "})";
    case Kind::default_dict:
      return "defaultdict({" + children + "})";
    case Kind::named_tuple:
      return "CustomNode(namedtuple[" + name(node.data) + "], [" + children + "])";
    case Kind::registered:
      return "CustomNode(" + name(node.registration->type) + "[" + str_of(node.auxiliary) + "], [" + children + "])";
  }
  return "";
}

}  // namespace

bool is_container(PyObject* object) {
  const Registration* registration = nullptr;
  return kind_of(object, registration) != Kind::leaf;
}

bool same_objects(PyObject* a, PyObject* b) {
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal > 0;
}

bool compared(PyObject* a, PyObject* b, FunctionRef<std::string()> what) {
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal >= 0) return equal > 0;
  nb::python_error error;
  if (!error.matches(PyExc_Exception)) throw error;  // Ctrl-C and its kin
  throw TreeError(fmt::format("trees: {} cannot be compared by ==, which raises {}: {}", what(),
                              class_of(error.value()), str_of(error.value()).substr(0, 200)),
                  "What is static is hashable, or compared by ==, which says True or False: arrays are children, or "
                  "arguments that are not static.");
}

TreeDef::TreeDef(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  Hasher h;
  for (const Node& node : nodes_) {
    h(static_cast<std::uint32_t>(node.kind))(node.children);
    for (const nb::object* part : {&node.data, &node.auxiliary}) {
      if (!*part || node.kind == Kind::reference) continue;
      if (const std::optional<Py_hash_t> hash = hash_of(*part))
        h(static_cast<std::int64_t>(*hash));
      else
        hashable_ = false;
    }
    if (node.registration != nullptr) h(reinterpret_cast<std::uintptr_t>(node.registration));
  }
  hash_ = h.finish().low;
}

bool TreeDef::operator==(const TreeDef& other) const {
  if (this == &other) return true;
  if (hash_ != other.hash_ || nodes_.size() != other.nodes_.size()) return false;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (!same(nodes_[i], other.nodes_[i])) return false;
  return true;
}

PyObject* TreeDef::assemble(const Node& node, PyObject* stolen) {
  const nb::tuple children = nb::steal<nb::tuple>(stolen);
  switch (node.kind) {
    case Kind::named_tuple:
      return node.data(*children).release().ptr();
    case Kind::ordered_dict:
    case Kind::default_dict: {
      const nb::tuple keys = keys_of(node);
      nb::object dict = node.kind == Kind::ordered_dict
                            ? nb::handle(ordered_dict_type())()
                            : nb::handle(default_dict_type())(nb::borrow<nb::tuple>(node.data)[0]);
      for (std::size_t i = 0; i < keys.size(); ++i) dict[keys[i]] = children[i];
      return dict.release().ptr();
    }
    default:
      break;
  }
  const Registration& r = *node.registration;
  if (!r.by_fields) return r.unflatten(node.auxiliary, children).release().ptr();
  nb::dict fields;
  for (std::size_t i = 0; i < r.data.size(); ++i) fields[r.data[i]] = children[i];
  for (std::size_t i = 0; i < r.meta.size(); ++i) fields[r.meta[i]] = nb::borrow<nb::tuple>(node.auxiliary)[i];
  return r.type(**fields).release().ptr();
}

nb::object TreeDef::unflatten_objects(std::span<const nb::object> leaves) const {
  if (leaves.size() != this->leaves()) {
    PyErr_Format(PyExc_ValueError, "Expected %zu leaves, got %zu.", this->leaves(), leaves.size());
    throw nb::python_error();
  }
  std::size_t i = 0;
  return nb::steal(unflatten([&] { return Py_NewRef(leaves[i++].ptr()); }));
}

bool TreeDef::match_registered(PyObject* object, const Node& node, nb::object& children) {
  const Registration* registration = nullptr;
  const Kind kind = kind_of(object, registration);
  if (kind != node.kind || registration != node.registration) return false;
  Node other{.kind = kind};
  children = node_of(object, other);
  return same(node, other);
}

Objects TreeDef::flatten_up_to(nb::handle tree) const {
  Objects subtrees, held;
  const auto leaf = [&](PyObject* object) {
    subtrees.push_back(nb::borrow(object));
    return true;
  };
  if (!match(tree.ptr(), leaf, held)) {
    Objects leaves;
    const std::string where = difference(*this, *flatten(tree, leaves));
    PyErr_Format(PyExc_ValueError, "The tree %R does not have the structure %s above its leaves: %s.", tree.ptr(),
                 text().c_str(), where.c_str());
    throw nb::python_error();
  }
  return subtrees;
}

Objects TreeDef::references() const {
  Objects all;
  for (const Node& node : nodes_)
    if (node.kind == Kind::reference) all.push_back(node.data);
  return all;
}

TreeRef TreeDef::without_references() const {
  std::vector<Node> nodes = nodes_;
  for (Node& node : nodes)
    if (node.kind == Kind::reference) node.data = nb::none();
  return std::make_shared<TreeDef>(std::move(nodes));
}

TreeRef TreeDef::with_own_statics() const {
  std::vector<Node> nodes = nodes_;
  const nb::object copied = nb::module_::import_("tenon._arguments").attr("copied_containers");
  for (Node& node : nodes)
    if (!hashable_ && node.auxiliary && !hash_of(node.auxiliary)) node.auxiliary = copied(node.auxiliary);
  return std::make_shared<TreeDef>(std::move(nodes));
}

TreeRef TreeDef::child(std::size_t i) const {
  const Node* at = nodes_.data() + 1;
  while (i-- > 0) at += at->nodes;
  return std::make_shared<TreeDef>(std::vector<Node>(at, at + at->nodes));
}

std::string TreeDef::text() const {
  const Node* at = nodes_.data();
  return text_of(at);
}

std::vector<nb::tuple> TreeDef::paths() const {
  std::vector<nb::tuple> all;
  std::vector<nb::object> path;
  const Node* at = nodes_.data();
  walk_paths(at, path, [&] {
    nb::list keys;
    for (const nb::object& key : path) keys.append(key);
    all.push_back(as_tuple(keys));
  });
  return all;
}

std::vector<std::string> TreeDef::names() const {
  std::vector<std::string> all;
  for (const nb::tuple& path : paths()) {
    std::string name;
    for (nb::handle key : path) name += str_of(key);
    all.push_back(name);
  }
  return all;
}

TreeRef flatten(nb::handle tree, Objects& leaves, nb::handle is_leaf, nb::handle references) {
  std::vector<Node> nodes;
  flatten_into(tree.ptr(), nodes, leaves, is_leaf, references);
  return std::make_shared<TreeDef>(std::move(nodes));
}

TreeRef flatten_once(nb::handle tree, Objects& children) {
  Node root{.kind = Kind::leaf};
  const nb::tuple below = node_of(tree.ptr(), root);
  root.leaves = root.kind == Kind::leaf ? 1 : root.children;
  root.nodes = 1 + root.children;
  std::vector<Node> nodes{root};
  for (nb::handle child : below) {
    children.push_back(nb::borrow(child));
    nodes.push_back({.kind = Kind::leaf});
  }
  return std::make_shared<TreeDef>(std::move(nodes));
}

std::string difference(const TreeDef& above, const TreeDef& tree) {
  const Node *x = above.nodes().data(), *y = tree.nodes().data();
  std::string found;
  find_difference(x, y, "", found);
  return found;
}

TreeRef tuple_of(std::span<const TreeRef> children) {
  std::vector<Node> nodes{{.kind = Kind::tuple, .children = static_cast<std::uint32_t>(children.size()), .leaves = 0}};
  for (const TreeRef& child : children) {
    nodes[0].leaves += static_cast<std::uint32_t>(child->leaves());
    nodes.insert(nodes.end(), child->nodes().begin(), child->nodes().end());
  }
  nodes[0].nodes = static_cast<std::uint32_t>(nodes.size());
  return std::make_shared<TreeDef>(std::move(nodes));
}

const Registration* registration_of(nb::handle type) {
  const auto& all = registrations();
  const auto at = all.find(type.ptr());
  return at == all.end() ? nullptr : &at->second;
}

void add_registration(Registration r) {
  PyObject* const type = r.type.ptr();
  if (!registrations().emplace(type, std::move(r)).second) {
    PyErr_Format(PyExc_ValueError, "Duplicate custom PyTreeDef type registration for %R.", type);
    throw nb::python_error();
  }
}

void set_foreign_classes(nb::object class_of) { foreign_classes = class_of.release().ptr(); }

}  // namespace tenon::python
