#include "tenon/compile/native/list_values.h"

#include <cstring>

#include "tenon/ops/lists/list_elements.h"
#include "tenon/runtime/lists/lists.h"

namespace tenon {
namespace {

std::int64_t checked(std::int64_t result) {
  if (result < 0) std::rethrow_exception(ListPool::current().failure);
  return result;
}

}  // namespace

std::int64_t list_handle(const ListValue& value) {
  const auto length = static_cast<std::int64_t>(value.items->size());
  const bool nested = value.element.is_list();
  const auto bytes = nested ? static_cast<std::int64_t>(sizeof(std::int64_t)) : value.element.known_bytes();
  const std::int64_t list = checked(tenon_list_make(bytes, nested, length));
  count_copied_list_elements(length);
  for (std::int64_t i = 0; i < length; ++i) {
    const Value& item = (*value.items)[static_cast<std::size_t>(i)];
    if (const auto* inner = std::get_if<ListValue>(&item)) {
      const std::int64_t handle = list_handle(*inner);
      std::memcpy(list_element(list, i), &handle, sizeof handle);
    } else {
      const auto& held = std::get<Buffer>(item);
      const Buffer array = held.contiguous() ? held : held.contiguous_copy();
      std::memcpy(list_element(list, i), array.data(), array.bytes());
    }
  }
  const std::size_t lanes = value.lengths ? value.lengths->size() : 0;
  const void* lengths = lanes > 0 ? value.lengths->data() : nullptr;
  checked(tenon_list_finish(list, length, static_cast<std::int64_t>(lanes), lengths));
  if (is_open(value)) open_list(list);
  return list;
}

ListValue list_value(std::int64_t handle, const Type& element) {
  std::vector<Value> items;
  count_copied_list_elements(list_length(handle));
  for (std::int64_t i = 0; i < list_length(handle); ++i) {
    const std::byte* from = list_element(handle, i);
    if (element.is_list()) {
      std::int64_t inner;
      std::memcpy(&inner, from, sizeof inner);
      items.emplace_back(list_value(inner, *element.element));
    } else {
      Buffer array = Buffer::allocate(element.dtype, element.shape.sizes());
      std::memcpy(array.data(), from, array.bytes());
      items.emplace_back(std::move(array));
    }
  }
  if (list_is_open(handle)) return open_list(element, std::move(items));
  std::vector<std::int64_t> lanes = list_lengths(handle);
  return {element, std::make_shared<std::vector<Value>>(std::move(items)),
          lanes.empty() ? nullptr : std::make_shared<const std::vector<std::int64_t>>(std::move(lanes))};
}

}  // namespace tenon
