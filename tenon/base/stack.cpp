#include "tenon/base/stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenon/base/error.h"

namespace tenon {
namespace {

// Where the reserve of the thread's stack begins; 1, below all stacks, where the system does not tell.
std::uintptr_t find_reserve() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  const int failed = pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  if (failed != 0 || bytes == 0) return 1;
  return reinterpret_cast<std::uintptr_t>(lowest) + std::min<std::size_t>(bytes / 4, std::size_t(2) << 20);
}

}  // namespace

void require_stack() {
  static thread_local std::uintptr_t reserve = 0;
  if (reserve == 0) [[unlikely]]
    reserve = find_reserve();
  // Not the address of a variable, which AddressSanitizer keeps elsewhere.
  if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > reserve) [[likely]]
    return;
  throw NestingError(
      "functions in functions, or loops and branches in each other, nest deeper than this thread's stack.",
      "Write what repeats as a loop (scan, fori_loop), or give the thread more stack (ulimit -s).");
}

}  // namespace tenon
