#include "tenon/api/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/lists/list_elements.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/runtime/lists/lists.h"

namespace tenon::api_detail {
namespace {

Array number(std::int64_t n) { return Array(Scalar(n)); }

std::optional<std::int64_t> known(const Array& n) {
  if (n.number() == nullptr && n.buffer() == nullptr) return std::nullopt;
  return n.item_scalar(SourceScope::current()).convert(DType::i64).as<std::int64_t>();
}

// A list in memory, outside of any trace: its elements are there to be changed.
bool in_memory(const Array& list) { return Scope::top() == nullptr && list.list() != nullptr; }

using Items = std::vector<Value>;
Array list_of(const Type& element, Items items) { return Array(open_list(element, std::move(items))); }

// The list with its elements changed, in place where this is the only handle.
template <class Change>
void change_items(Array& list, Change change) {
  ListValue value = *list.list();
  list = Array();
  const bool alone = value.items.use_count() == 1;
  if (!alone) count_copied_list_elements(static_cast<std::int64_t>(value.items->size()));
  Items items = alone ? std::move(const_cast<Items&>(*value.items)) : Items(*value.items);
  change(items, value.element);
  list = list_of(value.element, std::move(items));
}

Array array_of(const Value& value) {
  return std::visit([](const auto& held) { return Array(held); }, value);
}

// A value whose memory is nobody else's to change.
Value own(const Array& a) {
  Value value = a.value(SourceScope::current());
  const auto* b = std::get_if<Buffer>(&value);
  return b != nullptr && !b->ours() ? Value(b->contiguous_copy()) : value;
}

void put(Array& list, const Array& at, const Array& element) {
  const auto n = known(at);
  if (!in_memory(list) || !n) {
    list = list_put(list, at, element);
    return;
  }
  if (*n < 0) return;
  const auto at_place = static_cast<std::size_t>(*n);
  Value value = own(element);
  change_items(list, [&](Items& items, const Type& type) {
    while (items.size() < at_place) items.push_back(own(zeros_of(type)));  // a derivative is zero behind its end
    if (at_place < items.size())
      items[at_place] = std::move(value);
    else
      items.push_back(std::move(value));
  });
}

Array get(const Array& list, const Array& at) {
  const auto n = known(at);
  const bool there = in_memory(list) && n && *n >= 0 && *n < static_cast<std::int64_t>(list.list()->items->size());
  if (!there) return list_get(list, at);
  return array_of((*list.list()->items)[static_cast<std::size_t>(*n)]);
}

// Sizes of lanes are for vmap to tell apart.
void require_one_size(std::string_view op, const Array& size) {
  if (size.rank() != 0)
    throw ShapeError(fmt::format("{}: the list has a size for each lane, {}.", op, size.type().text()),
                     "Take it apart with vmap().");
}

Array stacked(const ListValue& list, std::int64_t n) {
  Buffer rows = Buffer::zeros(list.element.dtype, list.element.shape.with_axis(0, n).sizes());
  const std::size_t each = n == 0 ? 0 : rows.bytes() / static_cast<std::size_t>(n);
  const auto held = std::min(list.items->size(), static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < held; ++k) {
    Buffer item = std::get<Buffer>((*list.items)[k]);
    if (!item.contiguous()) item = item.contiguous_copy();
    std::memcpy(rows.data() + k * each, item.data(), each);
  }
  return Array(rows);
}

}  // namespace

Array no_elements() { return number(0); }

Array list_without_elements(const Type& element) {
  return Scope::top() != nullptr ? empty_list(element) : list_of(element, {});
}

void throw_no_type(std::string_view op) {
  throw ShapeError(fmt::format("{}: the list has had no element, so the type of its elements is not known.", op),
                   "Push one first, or make the list by an example of one: tn::List<T>::like(x).");
}

void throw_no_type_inside(std::string_view op) {
  throw ShapeError(fmt::format("{}: the new element has a list that has had no element, so its type is not known.", op),
                   "Make it by an example of its elements: tn::List<T>::like(x).");
}

Arrays fitting(std::string_view op, const Arrays& lists, const Arrays& element, const std::vector<std::string>& paths) {
  Arrays result;
  for (std::size_t k = 0; k < element.size(); ++k) {
    const Type wanted = *lists[k].type().element, given = element[k].type();
    if (given == wanted) {
      result.push_back(element[k].with_weak(false));
      continue;
    }
    const bool same_shape = given.is_array() && wanted.is_array() && given.shape == wanted.shape;
    if (same_shape && element[k].weak()) {  // takes the dtype of what it meets
      result.push_back(meet(op, {Array(Scalar(0).convert(wanted.dtype)), element[k]}).operands[1].with_weak(false));
      if (result.back().type() == wanted) continue;
    }
    const std::string what = fmt::format("{}: {} is {}, the list has {}.", op,
                                         paths[k].empty() ? "the element" : "leaf " + paths[k] + " of the element",
                                         given.text(), wanted.text());
    const char* advice = "All elements of a list have one type: convert or reshape the new one.";
    if (same_shape) throw DTypeError(what, advice);
    throw ShapeError(what, advice);
  }
  return result;
}

Array counted(std::string_view op, const Array& size, const Array& i, Outside outside) {
  require_one_size(op, size);
  const Type type = i.type();
  if (!type.is_array() || !is_integer(type.dtype))
    throw DTypeError(fmt::format("{}: the number of an element is {}, not an integer.", op, type.text()),
                     "Convert it with convert(i, DType::i64).");
  if (type.rank() != 0)
    throw ShapeError(fmt::format("{}: the number of an element is {}, not one integer.", op, type.text()),
                     "Use vmap() for a number of each lane.");
  // u64 reaches beyond i64: so far outside that the largest will do.
  if (type.dtype == DType::u64)
    return counted(op, size, convert(min(i, Array(Scalar(std::uint64_t(1) << 62))), DType::i64), outside);
  const auto at = known(i), held = known(size);
  if (at && held) {
    const std::int64_t from_front = *at < 0 ? *at + *held : *at;
    if (from_front < 0 || from_front >= *held)
      throw ShapeError(fmt::format("{}: there is no element {} in a list of {}.", op, *at, *held),
                       "Elements count from 0; negative numbers count from the end, -1 is the last.");
    return number(from_front);
  }
  const Array given = convert(i, DType::i64).with_weak(false);
  const Array n = where(given < number(0), given + size, given);
  if (outside == Outside::nearest) return min(max(n, number(0)), size - number(1));  // -1 of an empty list
  return where((n >= number(0)) & (n < size), n, number(-1));
}

void push_flat(FlatList& list, const Arrays& element) {
  require_one_size("push", list.size);
  for (std::size_t k = 0; k < element.size(); ++k) put(list.lists[k], list.size, element[k]);
  const auto size = known(list.size);
  list.size = size ? number(*size + 1) : list.size + number(1);
}

Arrays at_flat(const Arrays& lists, const Array& at) {
  Arrays element;
  for (const Array& leaf : lists) element.push_back(get(leaf, at));
  return element;
}

void set_flat(FlatList& list, const Array& at, const Arrays& element) {
  for (std::size_t k = 0; k < element.size(); ++k) put(list.lists[k], at, element[k]);
}

void check_pop(const Array& size) {
  require_one_size("pop", size);
  if (const auto n = known(size); n && *n == 0) throw ShapeError("pop: the list is empty.", "Ask size() first.");
}

Arrays pop_flat(FlatList& list) {
  const auto size = known(list.size);
  const Array last = size ? number(*size - 1) : list.size - number(1);
  Arrays element;
  for (Array& leaf : list.lists) {
    element.push_back(get(leaf, last));
    if (in_memory(leaf) && size)
      change_items(leaf, [&](Items& items, const Type&) {
        items.resize(std::min(items.size(), static_cast<std::size_t>(*size - 1)));
      });
  }
  list.size = size ? last : max(last, number(0));
  return element;
}

Arrays stack_flat(const FlatList& list, const std::optional<Dim>& size) {
  require_one_size("stack", list.size);
  for (const Array& leaf : list.lists)
    if (const Type element = *leaf.type().element; !element.is_array())
      throw ShapeError(fmt::format("stack: the elements are lists themselves, {}.", element.text()),
                       "Stack each of them, at(i).stack().");
  const auto count = known(list.size);
  const Dim n = size ? *size : count ? Dim(*count) : extent(list.size);
  if (n.known() && n.value() < 0)
    throw ShapeError(fmt::format("stack: {} elements are asked for.", n.text()), "Ask for none, or more.");
  const bool all_count = !size || (count && n.known() && n.value() <= *count);
  Arrays result;
  for (const Array& leaf : list.lists) {
    if (in_memory(leaf) && count && n.known()) {
      ListValue held = *leaf.list();
      if (static_cast<std::int64_t>(held.items->size()) > *count)  // what was popped in a trace still stands there
        held.items = std::make_shared<Items>(held.items->begin(), held.items->begin() + *count);
      result.push_back(stacked(held, n.value()));
      continue;
    }
    Array rows = list_stack(leaf, n);
    if (!all_count) {
      const Array counts = iota(DType::i64, Shape{n}, 0) < list.size;
      rows = bind1(select_op(), {}, {broadcast_in_dim(counts, rows.shape(), {0}), rows, zeros_like(rows.type())});
    }
    result.push_back(rows);
  }
  return result;
}

bool all_typed(std::span<ListBase* const> lists) { return std::ranges::all_of(lists, &ListBase::typed); }

void note_types(std::span<ListBase* const> lists, ListTypes& types) {
  types.resize(std::max(types.size(), lists.size()));
  for (std::size_t k = 0; k < lists.size(); ++k)
    if (lists[k]->typed()) types[k] = {lists[k]->copy(), lists[k]->element_types()};
}

void give_types(std::span<ListBase* const> lists, const ListTypes& types) {
  for (std::size_t k = 0; k < lists.size() && k < types.size(); ++k)
    if (!lists[k]->typed() && types[k].like) lists[k]->take_type(*types[k].like, types[k].types);
}

ListTypes types_inside(std::span<ListBase* const> lists) {
  ListTypes types;
  note_types(lists, types);
  for (ListType& list : types)
    for (Type& type : list.types) type = Type(*type.element);
  return types;
}

bool lacks_type(std::span<ListBase* const> lists, const ListTypes& types) {
  for (std::size_t k = 0; k < lists.size() && k < types.size(); ++k)
    if (!lists[k]->typed() && types[k].like) return true;
  return false;
}

std::vector<ListBase*> lists_of(const tree::View& tree) {
  std::vector<ListBase*> lists;
  tree.visit([](const Array&) {},
             [&](const tree::Static& fixed) {
               if (const auto* list = fixed.as<ListBase>()) lists.push_back(const_cast<ListBase*>(list));
             });
  return lists;
}

void leave_out_sizes(const tree::View& tree, std::vector<bool>& chosen, std::size_t first) {
  tree.visit([&](const Array&) { ++first; },
             [&](const tree::Static& fixed) {
               if (fixed.as<ListBase>() != nullptr) chosen[first - 1] = false;
             });
}

}  // namespace tenon::api_detail
