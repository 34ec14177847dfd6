#include "tenon/runtime/memory/found_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

thread_local FoundMemory* of_thread = nullptr;
constexpr std::int64_t lacked_memory = 1;  // tenon/compile/native/codegen.h
constexpr std::size_t little = 4096;       // bytes
constexpr std::size_t most_axes = 16;      // of results that take a block

}  // namespace

FoundMemory::FoundMemory() : outer_(of_thread) { of_thread = this; }

FoundMemory::~FoundMemory() { of_thread = outer_; }

FoundMemory& FoundMemory::current() { return *of_thread; }

// A block that steps of a loop outgrow again and again grows by a half at least.
void* FoundMemory::block(std::size_t number, std::size_t bytes) {
  if (blocks_.size() <= number) blocks_.resize(number + 1);
  Buffer& memory = blocks_[number];
  const std::size_t held = memory.bytes();
  if (memory && held >= bytes) return memory.data();
  memory = Buffer();
  std::array<std::int64_t, most_axes> dims;
  dims.fill(1);
  dims[0] = static_cast<std::int64_t>(std::max(bytes, held + held / 2));
  memory = Buffer::allocate(DType::u8, dims);
  return memory.data();
}

// What asks for the block's number afterwards gets another one.
void FoundMemory::give(std::size_t output, const void* address, std::size_t bytes) {
  auto memory = std::ranges::find(blocks_, address, [](const Buffer& b) -> const void* { return b.data(); });
  if (memory == blocks_.end()) {
    std::memcpy(block(blocks_.size(), bytes), address, bytes);
    memory = std::prev(blocks_.end());
  }
  given_[output] = std::exchange(*memory, Buffer());
}

Buffer FoundMemory::take(std::size_t output, DType dtype, std::span<const std::int64_t> dims) {
  Buffer memory = std::move(given_.at(output));
  std::size_t bytes = size_of(dtype);
  for (const std::int64_t d : dims) bytes *= static_cast<std::size_t>(d);
  if (dims.size() <= most_axes && bytes + little >= memory.bytes() / 4) {
    memory.keep_first(dtype, dims);
    return memory;
  }
  Buffer copy = Buffer::allocate(dtype, dims);
  std::memcpy(copy.data(), memory.data(), copy.bytes());
  return copy;
}

}  // namespace tenon

using namespace tenon;

std::int64_t tenon_found_memory(std::int64_t number, std::int64_t bytes, std::int64_t about) {
  constexpr std::int64_t most = std::int64_t(1) << 60;
  if (bytes < 0 || about > most) return -lacked_memory;
  try {
    return reinterpret_cast<std::int64_t>(
        FoundMemory::current().block(static_cast<std::size_t>(number), static_cast<std::size_t>(bytes)));
  } catch (const MemoryError&) {
    return -lacked_memory;
  }
}

std::int64_t tenon_give_found_memory(std::int64_t output, const void* address, std::int64_t bytes) {
  try {
    FoundMemory::current().give(static_cast<std::size_t>(output), address, static_cast<std::size_t>(bytes));
    return 0;
  } catch (const MemoryError&) {
    return -lacked_memory;
  }
}

namespace tenon {
namespace {

const RuntimeSymbol symbols_of_found_memory[] = {
    {"tenon_found_memory", &tenon_found_memory},
    {"tenon_give_found_memory", &tenon_give_found_memory},
};

}  // namespace
}  // namespace tenon
