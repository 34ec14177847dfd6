// tn.List: as many elements as the data ask for, in loops, branches and compiled functions too.
#include "lists.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "call.h"
#include "rooms.h"
#include "shapes.h"
#include "text.h"

namespace tenon::python {
namespace {

using api_detail::FlatList;

std::uint64_t scope_now() { return Scope::top() == nullptr ? 0 : Scope::top()->serial(); }

// A list as Python holds it. A node of trees: its children are the lists of the elements' leaves, and the size.
struct List {
  TreeRef element;  // nothing: it has had none
  FlatList flat{{}, api_detail::no_elements()};
  std::uint64_t scope = scope_now();  // where it was made, and may be changed

  void set_type(const ElementType& type) {
    element = type.tree;
    flat = {{}, api_detail::no_elements()};
    for (const Type& t : type.types) flat.lists.push_back(api_detail::list_without_elements(t));
  }
  std::vector<Type> types() const {
    std::vector<Type> all;
    for (const Array& list : flat.lists) all.push_back(*list.type().element);
    return all;
  }
  const TreeDef& structure(const char* op) const {
    if (element == nullptr)
      throw ShapeError(fmt::format("{}: the list has had no element, so the type of its elements is not known.", op),
                       "Push one first, or make the list by an example of one: tn.List(like=x).");
    return *element;
  }
  void require_here(const char* op) const {
    if (scope != scope_now())
      throw LeakError(fmt::format("{}: the list comes from outside of the function that is traced.", op),
                      "Give it to the function as an argument, or to the loop as a carry, and return it.");
  }
};

ElementType type_of(const FlatTree& tree) {
  ElementType type{tree.tree, {}};
  for (const Array& a : tree.leaves) type.types.push_back(a.type());
  return type;
}

Arrays fitting(const char* op, const List& list, const FlatTree& given) {
  require_same_tree(op, "the list's elements and the new one", *list.element, *given.tree);
  return api_detail::fitting(op, list.flat.lists, given.leaves, given.tree->names());
}

// --- what users call ---

void push(List& list, nb::handle x) {
  call_op("push", [&] {
    list.require_here("push");
    const FlatTree given = flat_arrays("push", "the element", x);
    if (list.element == nullptr) list.set_type(type_of(given));
    api_detail::push_flat(list.flat, fitting("push", list, given));
  });
}

nb::object element_at(const List& list, const Array& i) {
  return call_op("at", [&] {
    const TreeDef& element = list.structure("at");
    const Array n = api_detail::counted("at", list.flat.size, i, api_detail::Outside::nearest);
    return unflatten_arrays(element, api_detail::at_flat(list.flat.lists, n));
  });
}
nb::object at(const List& list, ArrayLike i) { return element_at(list, i.array("at")); }

void set(List& list, ArrayLike i, nb::handle x) {
  call_op("set", [&] {
    list.require_here("set");
    list.structure("set");
    const Arrays given = fitting("set", list, flat_arrays("set", "the element", x));
    const Array n = api_detail::counted("set", list.flat.size, i.array("set"), api_detail::Outside::nowhere);
    api_detail::set_flat(list.flat, n, given);
  });
}

nb::object pop(List& list) {
  return call_op("pop", [&] {
    list.require_here("pop");
    const TreeDef& element = list.structure("pop");
    api_detail::check_pop(list.flat.size);
    return unflatten_arrays(element, api_detail::pop_flat(list.flat));
  });
}

nb::object stack(const List& list, nb::handle n) {
  return call_op("stack", [&] {
    const TreeDef& element = list.structure("stack");
    std::optional<Dim> size;
    if (!n.is_none()) size = dim_from(n);
    return unflatten_arrays(element, api_detail::stack_flat(list.flat, size));
  });
}

void clear(List& list) {
  list.require_here("clear");
  if (list.element != nullptr) list.set_type({list.element, list.types()});
}

std::int64_t length(const List& list) {
  return list.flat.size.item_scalar(SourceScope::current()).convert(DType::i64).as<std::int64_t>();
}

// --- in trees ---

nb::tuple taken_apart(const List& list) {
  nb::list children;
  for (const Array& a : list.flat.lists) children.append(array_object(a));
  children.append(array_object(list.flat.size));
  return nb::make_tuple(nb::tuple(children), list.element == nullptr ? nb::none() : treedef_object(list.element));
}

// The children may be anything: trees of flags and axes have the same nodes.
nb::object put_together(nb::handle structure, nb::handle children) {
  const nb::tuple given(nb::borrow(children));
  List list;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Array a;
    if (!operand_from(given[i].ptr(), a)) {
      PyErr_SetString(PyExc_TypeError, "List: its children in a tree are arrays.");
      throw nb::python_error();
    }
    if (i + 1 < given.size())
      list.flat.lists.push_back(std::move(a));
    else
      list.flat.size = std::move(a);
  }
  if (!structure.is_none()) list.element = treedef_of(structure);
  return nb::cast(std::move(list));
}

const List* list_from(nb::handle object) {
  return nb::isinstance<List>(object) ? &nb::cast<const List&>(object) : nullptr;
}

struct Parts {
  TreeRef tree;
  Objects objects;  // lists, and leaves that are none
};
Parts parts_of_tree(nb::handle tree) {
  static PyObject* const is_list =
      nb::object(nb::cpp_function([](nb::handle object) { return nb::isinstance<List>(object); })).release().ptr();
  Parts parts;
  parts.tree = flatten(tree, parts.objects, nb::handle(is_list));
  return parts;
}

void note_types(const Parts& parts, ElementTypes& types) {
  std::size_t i = 0;
  for (const nb::object& object : parts.objects)
    if (const List* list = list_from(object)) {
      if (types.size() <= i) types.emplace_back();
      if (list->element != nullptr) types[i] = {list->element, list->types()};
      ++i;
    }
}

std::string text(const List& list) {
  const Array& size = list.flat.size;
  const bool known = size.number() != nullptr || (size.buffer() != nullptr && size.rank() == 0);
  std::string types;
  for (const Type& t : list.types()) types += (types.empty() ? "" : ", ") + t.text();
  return fmt::format("List({}{})", known ? std::to_string(length(list)) : "?",
                     list.element == nullptr ? " elements" : " elements of " + types);
}

}  // namespace

bool all_typed(nb::handle tree) {
  for (const nb::object& object : parts_of_tree(tree).objects)
    if (const List* list = list_from(object); list != nullptr && list->element == nullptr) return false;
  return true;
}

void note_types(nb::handle tree, ElementTypes& types) { note_types(parts_of_tree(tree), types); }

nb::object with_types(nb::handle tree, const ElementTypes& types) {
  Parts parts = parts_of_tree(tree);
  std::size_t i = 0;
  for (nb::object& object : parts.objects)
    if (const List* list = list_from(object)) {
      if (list->element == nullptr && i < types.size() && types[i].tree != nullptr) {
        List typed;
        typed.set_type(types[i]);
        object = nb::cast(std::move(typed));
      }
      ++i;
    }
  return parts.tree->unflatten_objects(parts.objects);
}

std::vector<bool> sizes_of_lists(const TreeDef& tree) {
  static PyObject* const type = nb::type<List>().ptr();
  std::vector<bool> sizes;
  std::vector<std::size_t> ends;
  for (const Node& node : tree.nodes()) {
    if (node.kind == Node::Kind::leaf) sizes.push_back(false);
    // The size is the last leaf below.
    if (node.registration != nullptr && node.registration->type.ptr() == type)
      ends.push_back(sizes.size() + node.leaves - 1);
  }
  for (const std::size_t end : ends) sizes[end] = true;
  return sizes;
}

nb::object with_types_of_step(const char* op, nb::handle init, const LoopStep& step, const api_detail::FlatLoop& of,
                              const Arrays& xs) {
  if (all_typed(init)) return nb::borrow(init);
  const FlatTree carry = flat_arrays(op, "the initial carry", init);
  std::vector<bool> untyped;
  for (const nb::object& object : parts_of_tree(init).objects)
    if (const List* list = list_from(object)) untyped.push_back(list->element == nullptr);
  ElementTypes types;
  api_detail::FlatLoop loop = of;
  loop.carry_paths = carry.tree->names();
  const std::size_t carries = carry.leaves.size();
  const auto body = [&](std::span<const Array> in) {
    Parts next = parts_of_tree(step(unflatten_arrays(*carry.tree, in.first(carries)), in.subspan(carries)));
    note_types(next, types);
    std::size_t lists = 0;
    for (nb::object& object : next.objects) {
      if (list_from(object) == nullptr) continue;
      const std::size_t at = lists++;
      if (at < untyped.size() && untyped[at]) object = nb::cast(List());
    }
    FlatTree out = flat_arrays(op, "what the function returns", next.tree->unflatten_objects(next.objects));
    require_same_tree(op, "the initial carry and the one that the function returns", *carry.tree, *out.tree);
    return std::move(out.leaves);
  };
  loop.body = FlatFunction(body);
  api_detail::trace_once(op, loop, carry.leaves, xs);
  return with_types(init, types);
}

void add_lists(nb::module_& module) {
  const auto type =
      nb::class_<List>(module, "List",
                       "A list of as many elements as the data ask for: trees of arrays of one structure, dtypes and "
                       "shapes, which the first push decides, or `like`, an example of one.")
          .def(
              "__init__",
              [](List* self, nb::handle like) {
                new (self) List();
                if (!like.is_none()) self->set_type(type_of(flat_arrays("List", "the example", like)));
              },
              nb::kw_only(), nb::arg("like") = nb::none())
          .def("push", push, "Adds an element behind the others.")
          .def("at", at, "An element. Numbers count from 0, negative ones from the end.")
          .def("__getitem__", at)
          .def("set", set, "Another element in place of one.")
          .def("__setitem__", set)
          .def("pop", pop, "The last element, which the list has no more.")
          .def("stack", stack, nb::arg("n") = nb::none(),
               "All elements along a new first axis of their leaves; the first n, zeros where there are none.")
          .def("clear", clear, "Takes all elements out.")
          .def(
              "copy", [](const List& list) { return List(list.element, list.flat); },
              "Another list of the same elements.")
          .def("__copy__", [](const List& list) { return List(list.element, list.flat); })
          .def_prop_ro(
              "size", [](const List& list) { return list.flat.size; }, "How many elements there are, an Array.")
          .def("__len__", [](const List& list) { return call_op("len", [&] { return length(list); }); })
          .def("__iter__",
               [](const List& list) {
                 nb::list all;
                 for (std::int64_t i = 0, n = call_op("iter", [&] { return length(list); }); i < n; ++i)
                   all.append(element_at(list, Array(Scalar(i))));
                 return nb::iter(all);
               })
          .def("__repr__", text);
  add_registration({.type = type,
                    .flatten = nb::cpp_function([](const List& list) { return taken_apart(list); }),
                    .unflatten = nb::cpp_function(put_together)});
}

}  // namespace tenon::python
