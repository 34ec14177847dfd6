// Elements of lists by number, and lists as arrays.
#include <bit>
#include <utility>

#include "tenon/runtime/lists/pooled_list.h"
#include "tenon/runtime/memory/allocator.h"
#include "tenon/runtime/symbols.h"

namespace tenon {

using namespace pooled;

namespace {

// The list with room for `length` elements, zero where there were none: itself where this is the only reference.
PooledList& changeable(std::int64_t handle, bool owned, std::int64_t bytes, bool nested, std::int64_t length) {
  PooledList* list = handle == 0 ? nullptr : of(handle);
  if (list == nullptr || !owned || list->references > 1) {
    PooledList* copy = ListPool::current().make(bytes, nested);
    const std::int64_t held = length_of(handle);
    reserve(*copy, std::max(held, length));
    for (std::int64_t t = 0; t < held; ++t) {
      std::memcpy(copy->element(t), list->element(t), static_cast<std::size_t>(bytes));
      if (nested) retained(list->handle_at(t));
    }
    copy->length = held;
    count_copied_list_elements(held);
    if (owned) release(handle);
    list = copy;
  }
  if (list->lengths != nullptr) free_block(std::exchange(list->lengths, nullptr), list->lanes * sizeof(std::int64_t));
  list->lanes = 0;
  list->open = true;
  reserve(*list, length);
  for (; list->length < length; ++list->length)
    std::memset(list->element(list->length), 0, static_cast<std::size_t>(bytes));
  return *list;
}

struct Numbers {
  const std::int64_t* at;
  std::size_t lanes;
  std::int64_t end() const { return std::max<std::int64_t>(*std::max_element(at, at + lanes) + 1, 0); }
};

// combine(to, from, bytes) for every lane that has a number.
template <class Combine>
std::int64_t change(std::int64_t handle, bool owned, std::int64_t bytes, bool nested, Numbers n, const void* x,
                    Combine combine) {
  if (n.lanes == 0 || n.end() == 0) return owned ? handle : retained(handle);
  PooledList& list = changeable(handle, owned, bytes, nested, n.end());
  const std::size_t each = static_cast<std::size_t>(bytes) / n.lanes;
  for (std::size_t l = 0; l < n.lanes; ++l)
    if (n.at[l] >= 0) combine(list.element(n.at[l]) + l * each, static_cast<const std::byte*>(x) + l * each, each);
  return handle_of(&list);
}

// Few bytes as one store.
void copy_element(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 4)
    std::memcpy(to, from, 4);
  else if (bytes == 8)
    std::memcpy(to, from, 8);
  else
    std::memcpy(to, from, bytes);
}

// What most writes are: a push, or another element, of one list that nobody else has and that has the room. False: this
// is none of them.
bool put_in_place(std::int64_t handle, std::size_t bytes, std::int64_t at, const std::byte* x) {
  PooledList& list = *of(handle);
  if (list.references != 1 || !list.open || list.lengths != nullptr || at < 0 || at > list.length ||
      at >= (list.first << list.filled) - list.first)
    return false;
  copy_element(list.element(at), x, bytes);
  list.length += at == list.length ? 1 : 0;
  return true;
}

}  // namespace

}  // namespace tenon

using namespace tenon;

std::int64_t tenon_list_put(std::int64_t list, std::int64_t owned, std::int64_t element_bytes, std::int64_t nested,
                            const void* at, std::int64_t lanes, const void* x) {
  if (lanes == 1 && owned != 0 && nested == 0 && list != 0 &&
      put_in_place(list, static_cast<std::size_t>(element_bytes), *static_cast<const std::int64_t*>(at),
                   static_cast<const std::byte*>(x)))
    return list;
  return guarded([&] {
    const Numbers n{static_cast<const std::int64_t*>(at), static_cast<std::size_t>(lanes)};
    return change(list, owned != 0, element_bytes, nested != 0, n, x,
                  [&](std::byte* to, const std::byte* from, std::size_t bytes) {
                    std::int64_t old = 0, next = 0;
                    if (nested != 0) std::memcpy(&old, to, bytes), std::memcpy(&next, from, bytes), retained(next);
                    std::memcpy(to, from, bytes);
                    release(old);
                  });
  });
}

std::int64_t tenon_list_add(std::int64_t list, std::int64_t owned, std::int64_t element_bytes, std::int64_t nested,
                            const void* at, std::int64_t lanes, const void* x, std::int64_t dtype) {
  return guarded([&] {
    const Numbers n{static_cast<const std::int64_t*>(at), static_cast<std::size_t>(lanes)};
    return change(list, owned != 0, element_bytes, nested != 0, n, x,
                  [&](std::byte* to, const std::byte* from, std::size_t bytes) {
                    if (nested == 0)
                      return add(static_cast<DType>(dtype), to, from, to, static_cast<std::int64_t>(bytes));
                    std::int64_t old, more;
                    std::memcpy(&old, to, bytes), std::memcpy(&more, from, bytes);
                    const std::int64_t all = sum(old, more, static_cast<DType>(dtype));
                    std::memcpy(to, &all, bytes);
                    release(old);
                  });
  });
}

std::int64_t tenon_list_get(std::int64_t list, std::int64_t element_bytes, const void* at, std::int64_t lanes,
                            void* to) {
  const auto* numbers = static_cast<const std::int64_t*>(at);
  const std::int64_t each = lanes == 0 ? 0 : element_bytes / lanes;
  for (std::int64_t l = 0; l < lanes; ++l) {
    std::byte* place = static_cast<std::byte*>(to) + l * each;
    if (numbers[l] >= 0 && numbers[l] < length_of(list))
      std::memcpy(place, of(list)->element(numbers[l]) + l * each, static_cast<std::size_t>(each));
    else
      std::memset(place, 0, static_cast<std::size_t>(each));
  }
  return 0;
}

std::int64_t tenon_list_get_list(std::int64_t list, const void* at) {
  const std::int64_t number = *static_cast<const std::int64_t*>(at);
  return number >= 0 && number < length_of(list) ? retained(of(list)->handle_at(number)) : 0;
}

std::int64_t tenon_list_stack(std::int64_t list, std::int64_t element_bytes, std::int64_t n, void* to) {
  const auto bytes = static_cast<std::size_t>(element_bytes);
  const std::int64_t held = std::min(length_of(list), n);
  for (std::int64_t t = 0; t < held;) {  // chunk by chunk: first + t lies below the next power of two
    const std::int64_t end =
        std::min(held, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(of(list)->first + t)) << 1) -
                           of(list)->first);
    std::memcpy(static_cast<std::byte*>(to) + t * element_bytes, of(list)->element(t),
                static_cast<std::size_t>(end - t) * bytes);
    t = end;
  }
  std::memset(static_cast<std::byte*>(to) + held * element_bytes, 0, static_cast<std::size_t>(n - held) * bytes);
  return 0;
}

std::int64_t tenon_list_unstack(std::int64_t element_bytes, std::int64_t n, const void* rows) {
  return guarded([&]() -> std::int64_t {
    if (n == 0) return 0;
    PooledList& list = *ListPool::current().make(element_bytes, false);
    list.open = true;
    reserve(list, n);
    for (std::int64_t t = 0; t < n; ++t)
      std::memcpy(list.element(t), static_cast<const std::byte*>(rows) + t * element_bytes,
                  static_cast<std::size_t>(element_bytes));
    list.length = n;
    return handle_of(&list);
  });
}

namespace tenon {
namespace {

const RuntimeSymbol symbols_of_list_elements[] = {
    {"tenon_list_put", &tenon_list_put},     {"tenon_list_add", &tenon_list_add},
    {"tenon_list_get", &tenon_list_get},     {"tenon_list_get_list", &tenon_list_get_list},
    {"tenon_list_stack", &tenon_list_stack}, {"tenon_list_unstack", &tenon_list_unstack},
};

}  // namespace
}  // namespace tenon
