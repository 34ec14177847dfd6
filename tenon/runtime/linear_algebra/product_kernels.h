// Kernels of matrix products of one shape, which libxsmm's code generator writes for this processor when they are first
// asked for.
#pragma once

#include <cstdint>

namespace tenon {

// What this processor has, or as much of it as TENON_CPU (baseline, avx2, avx512) admits.
enum class VectorUnit { none, sse3, avx2, avx512 };
VectorUnit vector_unit() noexcept;

// c (+)= a b of m by k and k by n elements. Rows of b and c are contiguous, and so are those of a unless
// `a_by_columns`, when its columns are. Distances of rows (of columns) are in elements, at least as long as what lies
// between.
struct KernelShape {
  std::uint32_t m, n, k;
  std::uint32_t a_distance, b_distance, c_distance;
  std::uint16_t f64, a_by_columns, accumulate;
  std::uint16_t unused = 0;  // so that equality may compare bytes
  bool operator==(const KernelShape&) const = default;
};

// Reads b, then a. It may leave the upper halves of vector registers in use: call leave_vectors() afterwards.
using ProductKernel = void (*)(const void* b, const void* a, void* c);

// Null where no kernel can be had: without SSE3, for distances beyond the generator's offsets, where the system grants
// no executable memory, or past `most_product_kernels` shapes. Once made, a kernel is found without a lock.
ProductKernel product_kernel(const KernelShape& shape) noexcept;
inline constexpr std::uint32_t most_product_kernels = 6144;  // some 24 MiB of code

inline void leave_vectors() noexcept {
  if (vector_unit() >= VectorUnit::avx2) asm volatile(".byte 0xc5, 0xf8, 0x77" ::: "memory");  // vzeroupper
}

}  // namespace tenon
