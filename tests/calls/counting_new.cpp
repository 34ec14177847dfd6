// operator new of this program: counts its calls. In a file of its own, so that the compiler does not see through it.
#include "tests/calls/counting_new.h"

#include <cstdlib>
#include <new>

std::atomic<std::size_t> counted_news{0};

void* operator new(std::size_t size) {
  ++counted_news;
  if (void* block = std::malloc(size)) return block;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++counted_news;
  if (void* block = std::aligned_alloc(static_cast<std::size_t>(alignment), (size + 63) / 64 * 64)) return block;
  throw std::bad_alloc();
}
// Those that return null, too: every block comes from one allocator.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++counted_news;
  return std::malloc(size);
}
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
