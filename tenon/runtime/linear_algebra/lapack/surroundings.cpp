// What OpenBLAS and LAPACK ask of their surroundings, in place of OpenBLAS's own memory, which all threads share under
// a lock, and of Fortran's runtime library.
#include "tenon/runtime/linear_algebra/lapack/surroundings.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {
namespace {

// Address space that a product packs its operands in: BUFFER_SIZE of OpenBLAS on x86-64. Pages come as they are
// written.
constexpr std::size_t buffer_bytes = std::size_t(128) << 20;

void* map_buffer() noexcept {
  void* const made =
      ::mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : made;
}

// A thread's own, kept for its next product.
struct Buffer {
  ~Buffer() {
    if (memory != nullptr) ::munmap(memory, buffer_bytes);
  }
  void* memory = nullptr;
  bool taken = false;
};
thread_local Buffer own;

}  // namespace

void reserve_product_memory() {
  if (own.memory == nullptr) own.memory = map_buffer();
  if (own.memory == nullptr) throw MemoryError("linear algebra: no address space is left for products.");
}

}  // namespace tenon

extern "C" {

void gotoblas_dynamic_init();
void* gotoblas = nullptr;  // the kernels for this processor, once that was called

__attribute__((constructor)) void tenon_choose_kernels() { gotoblas_dynamic_init(); }

// OpenBLAS knows processors by their models, and takes old kernels for those that came after it, unless the environment
// names others: it asks here (--wrap=getenv) and is told what the processor has. Nothing else of the environment
// counts.
char* __wrap_getenv(const char* name) {
  static char avx512[] = "SkylakeX", avx2[] = "Haswell", other[] = "Prescott";
  if (std::strcmp(name, "OPENBLAS_CORETYPE") != 0) return nullptr;
  switch (tenon::vector_unit()) {
    case tenon::VectorUnit::avx512:
      return avx512;
    case tenon::VectorUnit::avx2:
      return avx2;
    default:
      return other;
  }
}

void* blas_memory_alloc(int) {
  using tenon::own;
  if (own.memory == nullptr) own.memory = tenon::map_buffer();
  void* const memory = own.taken ? tenon::map_buffer() : own.memory;
  if (memory == nullptr) std::abort();
  if (memory == own.memory) own.taken = true;
  return memory;
}
void blas_memory_free(void* memory) {
  using tenon::own;
  if (memory == own.memory)
    own.taken = false;
  else
    ::munmap(memory, tenon::buffer_bytes);
}

// An argument that a routine does not take: the routine returns.
void xerbla_(const char*, const int*, std::size_t) {}

// Fortran's a // b, with blanks behind.
void _gfortran_concat_string(std::size_t size, char* to, std::size_t a_size, const char* a, std::size_t b_size,
                             const char* b) {
  std::memset(to, ' ', size);
  std::memcpy(to, a, std::min(a_size, size));
  if (size > a_size) std::memcpy(to + a_size, b, std::min(b_size, size - a_size));
}
}
