// How much memory can still be had, and a running account of what is promised out of it.
#pragma once

#include <cstddef>

namespace tenon {

// Bytes that can still be had: what the machine has available and what the control groups leave, caches of files that
// the system would drop counted as free. Reads a few files: tens of microseconds.
std::size_t available_memory();

// Promises `bytes` of fresh memory. Returns the bytes that were available where that is not enough, else 0. The files
// are read at most every 50 ms; in between, what was promised counts as used, since memory is taken when it is first
// written, after the check.
std::size_t promise_memory(std::size_t bytes);
void return_memory(std::size_t bytes) noexcept;  // given back to the system

}  // namespace tenon
