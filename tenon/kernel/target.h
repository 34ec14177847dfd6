// What passes and the planner ask of the machine that a Function is for.
#pragma once

#include <cstdint>

#include "tenon/base/dim.h"

namespace tenon::kernel {

struct Target {
  int threads = 1;
  // Elements of a local slot that may live in registers: nests and copies of so many are written out.
  std::int64_t register_elements = 64;
  // Local memory, in bytes: of one slot of a block of rows; of a frame that nobody minds; and of the largest frame.
  std::int64_t own_bytes = 64 << 10, small_frame_bytes = 64 << 10, largest_frame_bytes = 512 << 10;
  // --- blocks of rows ---
  double worth_forking = 20'000;            // ns of work: a fork and a join cost 0.5 to 2 µs, a sleeping worker 50
  std::int64_t cache_bytes = 24 * 1024;     // what a block of rows may touch: half of a first-level cache
  std::int64_t product_bytes = 512 * 1024;  // what it may have for products of matrices: part of a second-level cache
  std::int64_t vector_bytes = 64;           // of the widest register: a row's part that a thread is given has as many
  std::int64_t shortest_run = 2048;         // bytes: shorter pieces of a stacked array defeat prefetching
  double long_rows = 1500;  // instructions: a block of rows of more has no code of its own for a last block of fewer
  std::int64_t updates_of_copies = 16;  // updates of each element of a copy for which copies of a part pay, at least

  bool in_registers(const Dim& elements) const { return elements.known() && elements.value() <= register_elements; }
};

}  // namespace tenon::kernel
