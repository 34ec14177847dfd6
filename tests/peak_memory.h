// How much memory a call needs at most, beyond what is there before it: measured, not planned.
#pragma once

#include <cstddef>

#include "tenon/runtime/memory/allocator.h"

namespace tenon {

template <class F>
std::size_t peak_bytes_of(F&& call) {
  reset_peak_memory();
  const std::size_t before = memory_statistics().live_bytes;
  call();
  return memory_statistics().peak_bytes - before;
}

}  // namespace tenon
