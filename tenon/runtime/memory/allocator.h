// The caching allocator behind every buffer: size classes, huge pages for large blocks, a check against available
// memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

// Small blocks are counted from time to time: the first two are right to within 64 KiB a thread.
struct MemoryStatistics {
  std::size_t live_bytes;    // handed out
  std::size_t peak_bytes;    // the most that was handed out since the start, or since it was last reset
  std::size_t cached_bytes;  // kept for reuse
};

// A block of at least `bytes`, 64-byte aligned, with 64 readable bytes past its end. Small blocks come from a cache of
// this thread, without a lock; blocks from 1 MiB on are 2 MiB-aligned and advised to use huge pages, since the first
// touch of a fresh 4 KiB page costs 1.5 µs. Throws MemoryError where the machine (or the cgroup) has not that much
// left.
void* allocate_block(std::size_t bytes);
void free_block(void* block, std::size_t bytes) noexcept;  // the size that was asked for

void trim_memory() noexcept;  // gives what the shared cache holds back to the system
MemoryStatistics memory_statistics() noexcept;
void reset_peak_memory() noexcept;  // the peak is what is live now

}  // namespace tenon
