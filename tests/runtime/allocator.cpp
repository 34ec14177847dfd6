// Blocks and the account of memory: what cannot be had is refused before it is touched, and says how much there is.
#include "tenon/runtime/memory/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

#include "tenon/base/error.h"
#include "tenon/runtime/memory/available_memory.h"
#include "tenon/runtime/memory/buffer.h"
#include "tests/sanitizers.h"

namespace tenon {
namespace {

TEST(Memory, WhatIsAvailableIsPlausible) {
  const std::size_t available = available_memory();
  EXPECT_GT(available, std::size_t(1) << 20);
  EXPECT_LT(available, std::size_t(1) << 50);
}

TEST(Memory, ARequestBeyondItSaysBothNumbers) {
  const auto elements = static_cast<std::int64_t>(available_memory() / 4 * 2);
  const auto before = memory_statistics().live_bytes;
  try {
    Buffer::allocate(DType::f32, std::vector<std::int64_t>{elements});
    FAIL() << "twice what is available was given";
  } catch (const MemoryError& e) {
    EXPECT_THAT(e.what(), testing::ContainsRegex("[0-9]+ bytes were asked for; [0-9]+ bytes are available"));
    EXPECT_THAT(e.what(), testing::HasSubstr("smaller"));
  }
  EXPECT_EQ(memory_statistics().live_bytes, before);
}

// Fresh memory is taken when it is written: requests that fit one by one but not together are refused together.
TEST(Memory, PromisesAddUp) {
  if (under_address_sanitizer())
    GTEST_SKIP() << "AddressSanitizer writes its shadow of a block at once, which counts as the block being written";
  trim_memory();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // past an earlier reading of the files
  const std::size_t most = available_memory() / 100 * 65;
  void* const first = allocate_block(most / 5 * 4);  // size classes round up by a quarter at most
  EXPECT_THROW(allocate_block(most), MemoryError);
  free_block(first, most / 5 * 4);
  trim_memory();
  void* const second = allocate_block(most / 5 * 4);
  free_block(second, most / 5 * 4);
  trim_memory();
}

// Blocks kept for reuse are given back before a request is refused.
TEST(Memory, TheCacheIsGivenBackFirst) {
  const std::size_t kept = std::size_t(300) << 20;
  void* const block = allocate_block(kept);
  free_block(block, kept);
  ASSERT_GE(memory_statistics().cached_bytes, kept);
  EXPECT_THROW(allocate_block(available_memory() * 2), MemoryError);
  EXPECT_EQ(memory_statistics().cached_bytes, 0u);
}

TEST(Memory, ThePeakIsResetToWhatIsLive) {
  const std::size_t bytes = std::size_t(16) << 20;
  free_block(allocate_block(bytes), bytes);
  reset_peak_memory();
  const std::size_t live = memory_statistics().live_bytes;
  EXPECT_EQ(memory_statistics().peak_bytes, live);
  free_block(allocate_block(bytes), bytes);
  EXPECT_GE(memory_statistics().peak_bytes, live + bytes);
  EXPECT_EQ(memory_statistics().live_bytes, live);
}

TEST(Memory, BlocksAreAlignedPaddedAndReused) {
  for (const std::size_t bytes : {std::size_t(1), std::size_t(64), std::size_t(4000), std::size_t(3) << 20}) {
    void* const block = allocate_block(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
    std::memset(block, 1, bytes + 64);
    free_block(block, bytes);
    void* const again = allocate_block(bytes);
    EXPECT_EQ(block, again);
    free_block(again, bytes);
  }
}

TEST(Memory, BeyondTheAddressSpace) {
  EXPECT_THROW(allocate_block(std::numeric_limits<std::size_t>::max() - 10), MemoryError);
  EXPECT_THROW(Buffer::allocate(DType::f64, std::vector<std::int64_t>{std::int64_t(1) << 40, std::int64_t(1) << 30}),
               MemoryError);
}

}  // namespace
}  // namespace tenon
