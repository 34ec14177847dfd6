// Memory of generated code whose size only running tells: asked for by number, hence the C names, kept until the call
// of the program ends, and given out with results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tenon/runtime/memory/buffer.h"

extern "C" {

// The address of at least `bytes`, aligned as arrays are: the block of this number, or a larger one that takes its
// place, where what was in it is lost. `about`: the same, as floating point knows it, which does not wrap around. Minus
// a code where there is not so much.
std::int64_t tenon_found_memory(std::int64_t number, std::int64_t bytes, std::int64_t about);
// So many bytes at an address are result `output`: in the block that begins there, if no result has it, or in a copy.
std::int64_t tenon_give_found_memory(std::int64_t output, const void* address, std::int64_t bytes);
}

namespace tenon {

// The blocks of one call of generated code, on this thread. They nest.
class FoundMemory {
 public:
  FoundMemory();
  ~FoundMemory();
  FoundMemory(const FoundMemory&) = delete;
  FoundMemory& operator=(const FoundMemory&) = delete;

  static FoundMemory& current();
  void* block(std::size_t number, std::size_t bytes);
  void give(std::size_t output, const void* address, std::size_t bytes);
  // What was given to a result, as an array whose elements it holds.
  Buffer take(std::size_t output, DType dtype, std::span<const std::int64_t> dims);

 private:
  FoundMemory* outer_;
  std::vector<Buffer> blocks_;
  std::map<std::size_t, Buffer> given_;  // by results
};

}  // namespace tenon
