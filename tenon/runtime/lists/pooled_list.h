// What a list of generated code is in memory, for the files of tenon/runtime/lists/lists.h.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>

#include "tenon/base/dtype.h"
#include "tenon/runtime/lists/lists.h"

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

namespace pooled {

inline PooledList* of(std::int64_t handle) { return std::bit_cast<PooledList*>(handle); }
inline std::int64_t handle_of(const PooledList* list) { return reinterpret_cast<std::int64_t>(list); }
inline std::int64_t length_of(std::int64_t handle) { return handle == 0 ? 0 : of(handle)->length; }
inline bool is_open(std::int64_t handle) { return handle != 0 && of(handle)->open; }
inline std::int64_t retained(std::int64_t handle) {
  if (handle != 0) ++of(handle)->references;
  return handle;
}
void release(std::int64_t handle) noexcept;

void reserve(PooledList& list, std::int64_t count);  // chunks for so many elements
void set_lengths(PooledList& list, const std::int64_t* lengths, std::size_t lanes);

// Numbers element by element, to = a + b; and two lists of such, a new one.
void add(DType dtype, const std::byte* a, const std::byte* b, std::byte* to, std::int64_t bytes);
std::int64_t sum(std::int64_t a, std::int64_t b, DType dtype);

// What generated code gets of a function that may throw.
template <class Run>
std::int64_t guarded(Run run) noexcept {
  try {
    return run();
  } catch (...) {
    ListPool::current().failure = std::current_exception();
    return -list_failed;
  }
}

}  // namespace pooled

}  // namespace tenon
