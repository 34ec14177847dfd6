#include "tenon/runtime/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"
#include "tenon/runtime/allocator.h"

namespace tenon {

struct PooledList : TenonList {
  static constexpr std::size_t most_chunks = 62, own_chunks = 3;
  std::int64_t first, length = 0, references = 1;
  bool nested;
  bool open = false;       // written by number: zero behind its end, in every lane
  std::size_t filled = 0;  // chunks that there are
  std::size_t lanes = 0;
  std::int64_t* lengths = nullptr;  // a lane
  std::array<std::byte*, own_chunks> own{};
  PooledList *before = nullptr, *after = nullptr;

  std::byte* element(std::int64_t i) const {
    const std::int64_t at = first + i;
    return chunks[std::bit_width(static_cast<std::uint64_t>(at / first)) - 1] + at * stride;
  }
  std::int64_t handle_at(std::int64_t i) const {
    std::int64_t handle;
    std::memcpy(&handle, element(i), sizeof handle);
    return handle;
  }
  std::size_t chunk_bytes(std::size_t k) const {
    return static_cast<std::size_t>(std::max<std::int64_t>((first << k) * stride, 1));
  }
};

namespace {

thread_local ListPool* pool_of_thread = nullptr;
thread_local std::size_t copied_elements = 0;

PooledList* of(std::int64_t handle) { return std::bit_cast<PooledList*>(handle); }
std::int64_t handle_of(const PooledList* list) { return reinterpret_cast<std::int64_t>(list); }
std::int64_t length_of(std::int64_t handle) { return handle == 0 ? 0 : of(handle)->length; }

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

void reserve(PooledList& list, std::int64_t count) {
  while (count > 0 && (list.first << list.filled) - list.first < count) grow(list);
}

void set_lengths(PooledList& list, const std::int64_t* lengths, std::size_t lanes) {
  if (lanes == 0) return;
  list.lengths = static_cast<std::int64_t*>(allocate_block(lanes * sizeof(std::int64_t)));
  list.lanes = lanes;
  std::memcpy(list.lengths, lengths, lanes * sizeof(std::int64_t));
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

std::int64_t retained(std::int64_t handle) {
  if (handle != 0) ++of(handle)->references;
  return handle;
}

void release(std::int64_t handle) noexcept {
  if (handle == 0 || --of(handle)->references > 0) return;
  PooledList& list = *of(handle);
  for (std::int64_t i = 0; list.nested && i < list.length; ++i) release(list.handle_at(i));
  ListPool::current().destroy(&list);
}

void trim(PooledList& list, std::int64_t length) noexcept {
  for (std::int64_t i = length; list.nested && i < list.length; ++i) release(list.handle_at(i));
  list.length = std::min(list.length, length);
  while (list.filled > 0 && (list.first << (list.filled - 1)) - list.first >= length) free_last_chunk(list);
}

template <class Run>
std::int64_t guarded(Run run) noexcept {
  try {
    return run();
  } catch (...) {
    ListPool::current().failure = std::current_exception();
    return -list_failed;
  }
}

// --- lanes ---
std::int64_t length_in_lane(std::int64_t handle, std::size_t lane, std::size_t lanes) {
  if (handle == 0) return 0;
  const PooledList& list = *of(handle);
  return list.lanes == 0 ? list.length : list.lengths[lane * list.lanes / lanes];
}

bool is_open(std::int64_t handle) { return handle != 0 && of(handle)->open; }

std::int64_t element_or_none(std::int64_t handle, std::int64_t t) {
  return t < length_of(handle) ? of(handle)->handle_at(t) : 0;
}

// Of lists that are zero behind their ends.
std::int64_t select_open(const bool* predicate, std::size_t lanes, std::int64_t yes, std::int64_t no) {
  const bool* end = predicate + lanes;
  if (std::find(predicate, end, true) == end) yes = 0;  // nobody takes it
  if (std::find(predicate, end, false) == end) no = 0;
  const std::int64_t of_yes = length_of(yes), of_no = length_of(no), count = std::max(of_yes, of_no);
  if (count == 0) return 0;
  const PooledList& model = *of(of_yes > 0 ? yes : no);
  PooledList& result = *ListPool::current().make(model.stride, model.nested);
  result.open = true;
  reserve(result, count);
  count_copied_list_elements(count);
  const auto each = static_cast<std::size_t>(model.stride) / lanes;
  for (std::int64_t t = 0; t < count; ++t) {
    std::byte* to = result.element(t);
    if (model.nested) {
      const std::int64_t inner = select_open(predicate, lanes, element_or_none(yes, t), element_or_none(no, t));
      std::memcpy(to, &inner, sizeof inner);
    }
    for (std::size_t l = 0; l < lanes && !model.nested; ++l) {
      if (t < (predicate[l] ? of_yes : of_no))
        std::memcpy(to + l * each, of(predicate[l] ? yes : no)->element(t) + l * each, each);
      else
        std::memset(to + l * each, 0, each);
    }
    result.length = t + 1;
  }
  return handle_of(&result);
}

std::int64_t select(const bool* predicate, std::size_t lanes, std::int64_t yes, std::int64_t no) {
  if (is_open(yes) || is_open(no)) return select_open(predicate, lanes, yes, no);
  if (length_of(yes) == 0 && length_of(no) == 0) return 0;
  ListPool& pool = ListPool::current();
  const PooledList& model = *of(length_of(yes) > 0 ? yes : no);
  const std::int64_t of_yes = length_of(yes), of_no = length_of(no), count = std::max(of_yes, of_no);
  PooledList& result = *pool.make(model.stride, model.nested);
  reserve(result, count);
  count_copied_list_elements(count);
  const auto each = static_cast<std::size_t>(model.stride) / std::max<std::size_t>(lanes, 1);
  for (std::int64_t t = 0; t < count; ++t) {
    std::byte* to = result.element(t);
    if (model.nested) {
      const std::int64_t chosen = t >= of_yes  ? retained(of(no)->handle_at(t))
                                  : t >= of_no ? retained(of(yes)->handle_at(t))
                                               : select(predicate, lanes, of(yes)->handle_at(t), of(no)->handle_at(t));
      std::memcpy(to, &chosen, sizeof chosen);
      result.length = t + 1;
      continue;
    }
    std::memcpy(to, of(t >= of_no ? yes : no)->element(t), static_cast<std::size_t>(model.stride));
    for (std::size_t l = 0; t < of_yes && t < of_no && l < lanes; ++l)
      if (predicate[l]) std::memcpy(to + l * each, of(yes)->element(t) + l * each, each);
  }
  result.length = count;
  const std::size_t all = std::max({lanes, yes == 0 ? 0 : of(yes)->lanes, no == 0 ? std::size_t(0) : of(no)->lanes});
  std::vector<std::int64_t> lengths;
  for (std::size_t l = 0; l < all; ++l)
    lengths.push_back(length_in_lane(predicate[l * lanes / all] ? yes : no, l, all));
  set_lengths(result, lengths.data(), lengths.size());
  return handle_of(&result);
}

// Whether a lane of `lanes` has an element t. Lanes are counted from the outermost axis in both: of more lengths than
// lanes several stand behind one lane, of fewer one stands for several.
bool has_element(const PooledList& list, std::int64_t t, std::size_t lane, std::size_t lanes) {
  if (t >= list.length) return false;
  if (list.lanes == 0) return true;
  const std::size_t begin = lane * list.lanes / lanes, end = std::max((lane + 1) * list.lanes / lanes, begin + 1);
  return std::any_of(list.lengths + begin, list.lengths + end, [&](std::int64_t length) { return t < length; });
}

// Which of the lanes `within` have an element in the list, or are set in `also`: lists of flags, `depth` deep.
std::int64_t active(std::int64_t list, std::int64_t also, const std::vector<bool>& within, std::int64_t depth) {
  const std::int64_t count = std::max(length_of(list), length_of(also));
  if (count == 0) return 0;
  const bool nested = depth > 1;
  const std::size_t flags = within.size();
  const auto bytes = static_cast<std::int64_t>(nested ? sizeof(std::int64_t) : flags);
  PooledList& result = *ListPool::current().make(bytes, nested);
  reserve(result, count);
  std::vector<std::int64_t> lengths(flags, 0);
  const auto inside = [&](std::int64_t handle, std::int64_t t) {
    return t < length_of(handle) ? of(handle)->handle_at(t) : 0;
  };
  for (std::int64_t t = 0; t < count; ++t) {
    std::vector<bool> here(flags, false);
    for (std::size_t l = 0; l < flags; ++l) {
      const bool set =
          also != 0 && has_element(*of(also), t, l, flags) && (nested || of(also)->element(t)[l] != std::byte(0));
      here[l] = within[l] && (set || (list != 0 && has_element(*of(list), t, l, flags)));
      lengths[l] += here[l];
      if (!nested) result.element(t)[l] = std::byte(here[l] ? 1 : 0);
    }
    if (!nested) continue;
    const std::int64_t inner = active(inside(list, t), inside(also, t), here, depth - 1);
    std::memcpy(result.element(t), &inner, sizeof inner);
  }
  result.length = count;
  set_lengths(result, lengths.data(), lengths.size());
  return handle_of(&result);
}

// --- sums ---
template <class T>
void add(const std::byte* a, const std::byte* b, std::byte* to, std::int64_t bytes) {
  const T *x = reinterpret_cast<const T*>(a), *y = reinterpret_cast<const T*>(b);
  T* z = reinterpret_cast<T*>(to);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof(T); ++i)
    if constexpr (std::is_arithmetic_v<T>)
      z[i] = x[i] + y[i];
    else
      z[i] = T(static_cast<float>(x[i]) + static_cast<float>(y[i]));
}

void add(DType dtype, const std::byte* a, const std::byte* b, std::byte* to, std::int64_t bytes) {
  if (dtype == DType::f64) return add<double>(a, b, to, bytes);
  if (dtype == DType::f32) return add<float>(a, b, to, bytes);
  if (dtype == DType::f16) return add<Float16>(a, b, to, bytes);
  add<BFloat16>(a, b, to, bytes);
}

// Two lists of one length that have different lanes: where a lane has no element nothing is added.
std::vector<std::int64_t> longest(const PooledList& x, const PooledList& y) {
  const std::size_t lanes = x.lanes == 0 || y.lanes == 0 ? 0 : std::max(x.lanes, y.lanes);
  std::vector<std::int64_t> lengths;
  for (std::size_t l = 0; l < lanes; ++l)
    lengths.push_back(std::max(x.lengths[l * x.lanes / lanes], y.lengths[l * y.lanes / lanes]));
  return lengths;
}
bool same_lanes(const PooledList& x, const PooledList& y) {
  return x.lanes == 0 || y.lanes == 0 || std::equal(x.lengths, x.lengths + x.lanes, y.lengths, y.lengths + y.lanes);
}
void add_lanes(DType dtype, const PooledList& x, const PooledList& y, PooledList& result, std::int64_t t) {
  const std::size_t lanes = std::max(x.lanes, y.lanes);
  const std::int64_t each = x.stride / static_cast<std::int64_t>(lanes);
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::int64_t at = static_cast<std::int64_t>(l) * each;
    const bool in_x = t < x.lengths[l * x.lanes / lanes], in_y = t < y.lengths[l * y.lanes / lanes];
    std::byte* to = result.element(t) + at;
    if (in_x && in_y)
      add(dtype, x.element(t) + at, y.element(t) + at, to, each);
    else if (in_x || in_y)
      std::memcpy(to, (in_x ? x : y).element(t) + at, static_cast<std::size_t>(each));
    else
      std::memset(to, 0, static_cast<std::size_t>(each));
  }
}

std::int64_t sum(std::int64_t a, std::int64_t b, DType dtype) {
  if (length_of(a) == 0) return retained(b);
  if (length_of(b) == 0) return retained(a);
  const PooledList &x = *of(a), &y = *of(b);
  if (x.length != y.length && !x.open && !y.open)
    throw ShapeError(fmt::format("list_sum: lists of {} and {} elements.", x.length, y.length));
  if (x.length > y.length) return sum(b, a, dtype);
  PooledList& result = *ListPool::current().make(x.stride, x.nested);
  result.open = x.open || y.open;
  reserve(result, y.length);
  count_copied_list_elements(y.length);
  for (std::int64_t t = 0; t < y.length; ++t) {
    if (t >= x.length) {  // zero there
      std::memcpy(result.element(t), y.element(t), static_cast<std::size_t>(y.stride));
      if (y.nested) retained(y.handle_at(t));
      result.length = t + 1;
      continue;
    }
    if (x.nested) {
      const std::int64_t inner = sum(x.handle_at(t), y.handle_at(t), dtype);
      std::memcpy(result.element(t), &inner, sizeof inner);
    } else if (same_lanes(x, y)) {
      add(dtype, x.element(t), y.element(t), result.element(t), x.stride);
    } else {
      add_lanes(dtype, x, y, result, t);
    }
    result.length = t + 1;
  }
  const std::vector<std::int64_t> lengths = longest(x, y);
  set_lengths(result, lengths.data(), lengths.size());
  return handle_of(&result);
}

// --- elements by number ---
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

std::int64_t spread(std::int64_t handle, std::size_t before, std::size_t times, std::int64_t depth) {
  if (length_of(handle) == 0) return 0;
  const PooledList& list = *of(handle);
  const bool nested = depth > 1;
  PooledList& result =
      *ListPool::current().make(nested ? list.stride : list.stride * static_cast<std::int64_t>(times), nested);
  result.open = list.open;
  reserve(result, list.length);
  count_copied_list_elements(list.length);
  const std::size_t part = nested ? 0 : static_cast<std::size_t>(list.stride) / before;
  for (std::int64_t t = 0; t < list.length; ++t) {
    std::byte* to = result.element(t);
    if (nested) {
      const std::int64_t inner = spread(list.handle_at(t), before, times, depth - 1);
      std::memcpy(to, &inner, sizeof inner);
    }
    for (std::size_t b = 0; !nested && b < before; ++b)
      for (std::size_t k = 0; k < times; ++k, to += part) std::memcpy(to, list.element(t) + b * part, part);
    result.length = t + 1;
  }
  if (list.lanes > before) {
    const std::size_t behind = list.lanes / before;
    std::vector<std::int64_t> lengths;
    for (std::size_t b = 0; b < before; ++b)
      for (std::size_t k = 0; k < times; ++k)
        lengths.insert(lengths.end(), list.lengths + b * behind, list.lengths + (b + 1) * behind);
    set_lengths(result, lengths.data(), lengths.size());
  } else {
    set_lengths(result, list.lengths, list.lanes);
  }
  return handle_of(&result);
}

}  // namespace

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

std::int64_t tenon_list_active(std::int64_t list, std::int64_t flags, std::int64_t also, std::int64_t depth) {
  if (list == 0) return also;
  return guarded([&] {
    const std::int64_t result = active(list, also, std::vector<bool>(static_cast<std::size_t>(flags), true), depth);
    release(also);
    return result;
  });
}

std::int64_t tenon_list_select(const void* predicate, std::int64_t lanes, std::int64_t yes, std::int64_t no) {
  return guarded([&] { return select(static_cast<const bool*>(predicate), static_cast<std::size_t>(lanes), yes, no); });
}

std::int64_t tenon_list_sum(std::int64_t a, std::int64_t b, std::int64_t dtype) {
  return guarded([&] { return sum(a, b, static_cast<DType>(dtype)); });
}

std::int64_t tenon_list_put(std::int64_t list, std::int64_t owned, std::int64_t element_bytes, std::int64_t nested,
                            const void* at, std::int64_t lanes, const void* x) {
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
  for (std::int64_t t = 0; t < held; ++t)
    std::memcpy(static_cast<std::byte*>(to) + t * element_bytes, of(list)->element(t), bytes);
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

std::int64_t tenon_list_spread(std::int64_t list, std::int64_t before, std::int64_t times, std::int64_t depth) {
  return guarded(
      [&] { return spread(list, static_cast<std::size_t>(before), static_cast<std::size_t>(times), depth); });
}
