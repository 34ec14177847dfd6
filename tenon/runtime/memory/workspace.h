// Memory that a function of the runtime works in: the caller's, or where the caller did not know the sizes, its own.
#pragma once

#include <cstddef>

#include "tenon/runtime/memory/allocator.h"

namespace tenon {

class Workspace {
 public:
  // `bytes`: of its own, where nothing is given. Throws MemoryError.
  Workspace(void* given, std::size_t bytes) : bytes_(given == nullptr ? bytes : 0), memory_(given) {
    if (bytes_ > 0) memory_ = allocate_block(bytes_);
  }
  ~Workspace() {
    if (bytes_ > 0) free_block(memory_, bytes_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* memory() const { return memory_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

inline constexpr std::int64_t no_memory = -1;  // what such a function returns where there was none

}  // namespace tenon
