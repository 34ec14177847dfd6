#include "tenon/runtime/lists/lists.h"

#include <fmt/format.h>

#include <limits>
#include <new>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/runtime/lists/pooled_list.h"
#include "tenon/runtime/memory/allocator.h"
#include "tenon/runtime/symbols.h"

namespace tenon {

using namespace pooled;

namespace {

thread_local ListPool* pool_of_thread = nullptr;
thread_local std::size_t copied_elements = 0;

void grow(PooledList& list) {
  const std::size_t k = list.filled;
  if (k >= PooledList::most_chunks ||
      list.stride > (std::numeric_limits<std::int64_t>::max() >> (k + 1)) / std::max<std::int64_t>(list.first, 1))
    throw MemoryError("a list has more elements than memory can hold.");
  if (k == PooledList::own_chunks) {
    auto* table = static_cast<std::byte**>(allocate_block(PooledList::most_chunks * sizeof(std::byte*)));
    std::ranges::copy(list.own, table);
    list.chunks = table;
  }
  // Addresses count from where element -first would be: as integers, since that lies outside of the chunk.
  const auto block = reinterpret_cast<std::uintptr_t>(allocate_block(list.chunk_bytes(k)));
  list.chunks[k] = std::bit_cast<std::byte*>(block - static_cast<std::uintptr_t>((list.first << k) * list.stride));
  ++list.filled;
}

void free_last_chunk(PooledList& list) noexcept {
  const std::size_t k = --list.filled;
  const auto shifted = reinterpret_cast<std::uintptr_t>(list.chunks[k]);
  free_block(std::bit_cast<void*>(shifted + static_cast<std::uintptr_t>((list.first << k) * list.stride)),
             list.chunk_bytes(k));
}

void free_memory(PooledList& list) noexcept {
  while (list.filled > 0) free_last_chunk(list);
  if (list.chunks != list.own.data())
    free_block(static_cast<void*>(list.chunks), PooledList::most_chunks * sizeof(std::byte*));
  if (list.lengths != nullptr) free_block(list.lengths, list.lanes * sizeof(std::int64_t));
  list.~PooledList();
  free_block(&list, sizeof list);
}

void trim(PooledList& list, std::int64_t length) noexcept {
  for (std::int64_t i = length; list.nested && i < list.length; ++i) release(list.handle_at(i));
  list.length = std::min(list.length, length);
  while (list.filled > 0 && (list.first << (list.filled - 1)) - list.first >= length) free_last_chunk(list);
}

}  // namespace

namespace pooled {

void reserve(PooledList& list, std::int64_t count) {
  while (count > 0 && (list.first << list.filled) - list.first < count) grow(list);
}

void set_lengths(PooledList& list, const std::int64_t* lengths, std::size_t lanes) {
  if (lanes == 0) return;
  list.lengths = static_cast<std::int64_t*>(allocate_block(lanes * sizeof(std::int64_t)));
  list.lanes = lanes;
  std::memcpy(list.lengths, lengths, lanes * sizeof(std::int64_t));
}

void release(std::int64_t handle) noexcept {
  if (handle == 0 || --of(handle)->references > 0) return;
  PooledList& list = *of(handle);
  for (std::int64_t i = 0; list.nested && i < list.length; ++i) release(list.handle_at(i));
  ListPool::current().destroy(&list);
}

}  // namespace pooled

// --- the pool ---
ListPool::ListPool() : outer_(pool_of_thread) { pool_of_thread = this; }

ListPool::~ListPool() {
  while (lists_ != nullptr) destroy(lists_);
  for (const Zeros& z : zeros_) free_block(z.block, z.bytes);
  pool_of_thread = outer_;
}

ListPool& ListPool::current() { return *pool_of_thread; }

PooledList* ListPool::make(std::int64_t element_bytes, bool nested) {
  auto* list = new (allocate_block(sizeof(PooledList))) PooledList;
  list->stride = element_bytes;
  list->chunks = list->own.data();
  list->first = first_chunk(element_bytes);
  list->nested = nested;
  list->after = lists_;
  if (lists_ != nullptr) lists_->before = list;
  lists_ = list;
  return list;
}

void ListPool::destroy(PooledList* list) noexcept {
  (list->before != nullptr ? list->before->after : lists_) = list->after;
  if (list->after != nullptr) list->after->before = list->before;
  free_memory(*list);
}

const TenonList* ListPool::zeros(std::int64_t element_bytes) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(element_bytes, 1));
  if (zeros_.empty() || zeros_.back().bytes < bytes) {
    zeros_.reserve(zeros_.size() + 1);
    zero_chunks_.resize(64);
    zeros_.push_back({static_cast<std::byte*>(allocate_block(bytes)), bytes});
    std::memset(zeros_.back().block, 0, bytes);
    std::ranges::fill(zero_chunks_, zeros_.back().block);
    zero_list_.chunks = zero_chunks_.data();
  }
  return &zero_list_;
}

std::size_t copied_list_elements() { return copied_elements; }
void count_copied_list_elements(std::int64_t elements) { copied_elements += static_cast<std::size_t>(elements); }

std::int64_t list_length(std::int64_t list) { return length_of(list); }
std::byte* list_element(std::int64_t list, std::int64_t i) { return of(list)->element(i); }
bool list_is_open(std::int64_t list) { return is_open(list); }
void open_list(std::int64_t list) { of(list)->open = true; }
std::vector<std::int64_t> list_lengths(std::int64_t list) {
  if (list == 0) return {};
  return {of(list)->lengths, of(list)->lengths + of(list)->lanes};
}

}  // namespace tenon

using namespace tenon;

std::int64_t tenon_list_make(std::int64_t element_bytes, std::int64_t nested, std::int64_t count) {
  return guarded([&] {
    PooledList* list = ListPool::current().make(element_bytes, nested != 0);
    reserve(*list, count);
    return handle_of(list);
  });
}

std::int64_t tenon_list_grow(std::int64_t list) {
  return guarded([&]() -> std::int64_t {
    grow(*of(list));
    return 0;
  });
}

std::int64_t tenon_list_finish(std::int64_t list, std::int64_t length, std::int64_t lanes, const void* lengths) {
  return guarded([&]() -> std::int64_t {
    of(list)->length = length;
    set_lengths(*of(list), static_cast<const std::int64_t*>(lengths), static_cast<std::size_t>(lanes));
    return 0;
  });
}

std::int64_t tenon_list_open(std::int64_t list, std::int64_t element_bytes, std::int64_t steps) {
  if (length_of(list) > 0 || steps == 0) return list;
  return guarded([&] { return reinterpret_cast<std::int64_t>(ListPool::current().zeros(element_bytes)); });
}

std::int64_t tenon_list_steps(std::int64_t list, std::int64_t steps, std::int64_t fixed) {
  const std::int64_t n = length_of(list);
  if (n == 0 && steps >= 0) return steps;
  const bool differ = steps >= 0 && (fixed != 0 || steps != 0) && steps != n;
  return guarded([&] {
    if (differ)
      throw ShapeError(fmt::format("loop: lists of {} and {} elements.", steps, n),
                       "Lists that run in step have equal lengths.");
    return n;
  });
}

std::int64_t tenon_list_trim(std::int64_t list, std::int64_t last) {
  if (list != 0 && of(list)->references == 1) trim(*of(list), last + 1);
  return 0;
}

std::int64_t tenon_list_retain(std::int64_t list) { return retained(list); }

std::int64_t tenon_list_release(std::int64_t list) {
  release(list);
  return 0;
}

namespace tenon {
namespace {

const RuntimeSymbol symbols_of_lists[] = {
    {"tenon_list_make", &tenon_list_make},     {"tenon_list_grow", &tenon_list_grow},
    {"tenon_list_finish", &tenon_list_finish}, {"tenon_list_open", &tenon_list_open},
    {"tenon_list_steps", &tenon_list_steps},   {"tenon_list_trim", &tenon_list_trim},
    {"tenon_list_retain", &tenon_list_retain}, {"tenon_list_release", &tenon_list_release},
};

}  // namespace
}  // namespace tenon
