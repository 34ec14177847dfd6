// Lists: as many elements as the data ask for, in loops, branches, derivatives and batches too.
#pragma once

#include <memory>

#include "tenon/api/tree.h"

namespace tenon {

namespace api_detail {

// A list as the static value that it adds to a tree, behind its arrays: the way to it without its elements' C++ type.
class ListBase {
 public:
  ListBase() = default;
  ListBase(const ListBase&) = default;
  ListBase& operator=(const ListBase&) = default;
  virtual ~ListBase() = default;

  virtual bool typed() const = 0;  // whether it has had an element, or an example of one
  virtual std::vector<Type> element_types() const = 0;
  virtual std::shared_ptr<const ListBase> copy() const = 0;
  // Without elements, of the same type as a list of the same C++ type, whose leaves are of these types.
  virtual void take_type(const ListBase& other, std::span<const Type> types) = 0;
  virtual void forget_type() = 0;  // and the elements
  virtual const Array& count() const = 0;
  virtual void set_count(Array count) = 0;

  bool operator==(const ListBase&) const { return true; }
  void hash(Hasher&) const {}
  std::string text() const { return "a list"; }
};

// The part that knows no trees: for each leaf of an element a list of the program's, and how many elements count.
struct FlatList {
  Arrays lists;
  Array size;
};
Array no_elements();  // the number
Array list_without_elements(const Type& element);
[[noreturn]] void throw_no_type(std::string_view op);
[[noreturn]] void throw_no_type_inside(std::string_view op);  // the element's lists
// What is pushed or set, leaf by leaf of the list's types. Throws where it is not.
Arrays fitting(std::string_view op, const Arrays& lists, const Arrays& element, const std::vector<std::string>& paths);
// The number of an element, counted from the front, or -1. Throws where it is known that there is none; else `at` has
// the nearest.
enum class Outside : std::uint8_t { nearest, nowhere };
Array counted(std::string_view op, const Array& size, const Array& i, Outside outside);
void push_flat(FlatList& list, const Arrays& element);
Arrays at_flat(const Arrays& lists, const Array& at);
void set_flat(FlatList& list, const Array& at, const Arrays& element);
void check_pop(const Array& size);
Arrays pop_flat(FlatList& list);
Arrays stack_flat(const FlatList& list, const std::optional<Dim>& size);

// The lists in a tree, in order.
std::vector<ListBase*> lists_of(const tree::View& tree);

// What lists are of, to be told to others in the same places of trees.
struct ListType {
  std::shared_ptr<const ListBase> like;  // nothing: it is not known
  std::vector<Type> types;
};
using ListTypes = std::vector<ListType>;
bool all_typed(std::span<ListBase* const> lists);
void note_types(std::span<ListBase* const> lists, ListTypes& types);
void give_types(std::span<ListBase* const> lists, const ListTypes& types);
// Whether a list is of no type though that is known.
bool lacks_type(std::span<ListBase* const> lists, const ListTypes& types);
// Of lists whose leaves are lists of what stands in the leaves of others: the types of these.
ListTypes types_inside(std::span<ListBase* const> lists);

// Tangents and cotangents have as many elements as what they are of: the tree has its lists in the same places.
template <class Tree>
Tree with_sizes_of(const Tree& primals, Tree tangents) {
  const std::vector<ListBase*> from = lists_of(primals), to = lists_of(tangents);
  for (std::size_t i = 0; i < from.size(); ++i) to[i]->set_count(from[i]->count());
  return tangents;
}
// The leaves of a tree of which derivatives may be asked: not the sizes of lists.
void leave_out_sizes(const tree::View& tree, std::vector<bool>& chosen, std::size_t first);

}  // namespace api_detail

// Elements of one type T, any tree of arrays: of one structure, dtypes and shapes, which the first push decides, or
// List::like(x). It grows without bound. A value as an array is: a copy is another list, and it is a tree, so that it
// is a carry of loops, an argument and a result of transformed functions, and a part of other trees. A traced function
// that captures one can read it; what it pushes to one from outside stays in the trace, so pass it as a carry or an
// argument.
//
//   tn::List<Array> path;
//   auto end = tn::while_loop([](State s, auto&) { return s.height > 0.f; },
//                             [&](State s, auto& path) { path.push(s.height); return step(s); }, start, path);
//   Array heights = path.stack();
//
// Elements count from 0, negative numbers from the end. As of an array, x(i) and x.at(i).set(y): a number that is known
// to be outside throws ShapeError; one that only the run will tell is moved inside where it is read, and left out where
// it is written. pop() of a list that is known to be empty throws ShapeError, else it gives zeros, as at() does then.
// Derivatives are those of the elements; a gradient in a list is a list. Under vmap each lane has a size of its own.
//
// A push, and a set of a list that nobody else has, costs its element, outside of traces and in compiled loops and
// branches: nothing else is copied. A list that crosses the border of a compiled function is copied once.
template <class T = Array>
class List : public api_detail::ListBase {
 public:
  List() = default;
  // Without elements, which will be like this one.
  static List like(const T& element) {
    List list;
    list.set_type(element);
    return list;
  }

  // Throws DTypeError, ShapeError or TreeError where the element is of another type than the others.
  void push(const T& element, const Source& where = std::source_location::current()) {
    const SourceScope place(where, "push");
    const T typed = with_types("push", element);
    if (!items_) set_type(typed);
    const Arrays given = fitting("push", typed);
    change([&](api_detail::FlatList& list) { api_detail::push_flat(list, given); });
  }
  T at(const Operand& i) const {
    const SourceScope place(i.where(), "at");
    const T& like = items("at");
    const Array n = api_detail::counted("at", size_, i, api_detail::Outside::nearest);
    return tree::with_leaves(like, api_detail::at_flat(tree::leaves(like), n));
  }
  void set(const Operand& i, const T& element) {
    const SourceScope place(i.where(), "set");
    items("set");
    const Arrays given = fitting("set", with_types("set", element));
    const Array n = api_detail::counted("set", size_, i, api_detail::Outside::nowhere);
    change([&](api_detail::FlatList& list) { api_detail::set_flat(list, n, given); });
  }
  // The last element, which the list has no more.
  T pop(const Source& where = std::source_location::current()) {
    const SourceScope place(where, "pop");
    items("pop");
    api_detail::check_pop(size_);
    Arrays last;
    change([&](api_detail::FlatList& list) { last = api_detail::pop_flat(list); });
    return tree::with_leaves(*items_, last);
  }
  Array size() const { return size_; }  // i64
  // All elements along a new first axis of their leaves, of a size that the data decide where they decide how many.
  T stack(const Source& where = std::source_location::current()) const {
    const SourceScope place(where, "stack");
    const T& like = items("stack");
    return tree::with_leaves(like, api_detail::stack_flat({tree::leaves(like), size_}, std::nullopt));
  }
  // The first n; zeros where there are none. So lanes of a vmap give arrays of one size.
  T stack(const Dim& n, const Source& where = std::source_location::current()) const {
    const SourceScope place(where, "stack");
    const T& like = items("stack");
    return tree::with_leaves(like, api_detail::stack_flat({tree::leaves(like), size_}, n));
  }
  void clear() {
    if (items_) take_type(*this, element_types());
  }

  auto tenon_fields() { return std::tie(items_, size_, base()); }
  auto tenon_fields() const { return std::tie(items_, size_, base()); }
  static constexpr const char* tenon_field_names() { return "elements, size, type"; }

  bool typed() const override { return items_.has_value(); }
  std::vector<Type> element_types() const override {
    std::vector<Type> types;
    for (const Array& list : tree::leaves(*items_)) types.push_back(*list.type().element);
    return types;
  }
  std::shared_ptr<const ListBase> copy() const override { return std::make_shared<const List>(*this); }
  void take_type(const api_detail::ListBase& other, std::span<const Type> types) override {
    Arrays empty;
    for (const Type& type : types) empty.push_back(api_detail::list_without_elements(type));
    items_ = tree::with_leaves(*static_cast<const List&>(other).items_, empty);
    size_ = api_detail::no_elements();
  }
  void forget_type() override {
    items_.reset();
    size_ = api_detail::no_elements();
  }
  const Array& count() const override { return size_; }
  void set_count(Array count) override { size_ = std::move(count); }

 private:
  api_detail::ListBase& base() { return *this; }
  const api_detail::ListBase& base() const { return *this; }
  void set_type(const T& element) {
    Arrays empty;
    for (const Array& a : tree::leaves(element)) empty.push_back(api_detail::list_without_elements(a.type()));
    items_ = tree::with_leaves(element, empty);
  }
  const T& items(std::string_view op) const {
    if (!items_) api_detail::throw_no_type(op);
    return *items_;
  }
  // An element whose lists have had no element yet are of the type of those of the others.
  T with_types(std::string_view op, const T& element) const {
    T typed = element;
    const std::vector<api_detail::ListBase*> inside = api_detail::lists_of(typed);
    if (items_) api_detail::give_types(inside, api_detail::types_inside(api_detail::lists_of(*items_)));
    if (!api_detail::all_typed(inside)) api_detail::throw_no_type_inside(op);
    return typed;
  }
  Arrays fitting(std::string_view op, const T& element) const {
    tree::require_same(op, "the list's elements and the new one", *items_, element);
    return api_detail::fitting(op, tree::leaves(*items_), tree::leaves(element), tree::paths(element));
  }
  // The handles are moved, so that who changes a list knows whether others have it.
  template <class Change>
  void change(Change&& next) {
    api_detail::FlatList list{{}, size_};
    tree::MutableView(*items_).visit([&](Array& a) { list.lists.push_back(std::move(a)); });
    const auto put_back = [&] {
      tree::assign(*items_, list.lists);
      size_ = list.size;
    };
    try {
      next(list);
    } catch (...) {
      put_back();
      throw;
    }
    put_back();
  }

  std::optional<T> items_;  // each leaf is the list of that leaf's arrays
  Array size_ = api_detail::no_elements();
};

}  // namespace tenon
