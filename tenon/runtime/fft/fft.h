// Discrete Fourier transforms for generated code, hence the C names: one description, then calls with pointers.
#pragma once

#include <cstdint>

extern "C" {

// What stands before the sizes of the operand's axes (`rank` of them) and the axes that are transformed (`count`, all
// different). Arrays are row-major.
struct TenonFft {
  // forward: Σ x[j] exp(-2πi jk/n) of complex numbers; inverse: the same with +. real_forward: the first n/2 + 1 of the
  // numbers that `forward` gives for real ones, of the last of the axes. real_inverse: the real numbers that `inverse`
  // gives where those are the first of n, which is `size`.
  enum Kind : std::int64_t { forward, inverse, real_forward, real_inverse };
  // Of the sums: nothing, 1/n or 1/√n, where n is the number of elements that are transformed together.
  enum Scale : std::int64_t { none, by_count, by_root };
  std::int64_t is_double;
  std::int64_t kind, scale;
  std::int64_t size;  // of the last of the axes, of real_inverse
  std::int64_t rank, count;

  const std::int64_t* dims() const { return reinterpret_cast<const std::int64_t*>(this + 1); }
  const std::int64_t* axes() const { return dims() + rank; }
};

// y is the transform of x; less than 0 where there is no memory, or no library.
std::int64_t tenon_fft(const TenonFft* transform, const void* x, void* y, void* workspace);
}

namespace tenon {

// Throws CompileError where libtenon_fft cannot be opened, which transforms stand in.
void require_fft_library();

// What that library gives.
using FftLibrary = std::int64_t (*)(const TenonFft& transform, const void* x, void* y) noexcept;
inline constexpr const char* fft_library_symbol = "tenon_fft_library_1";

}  // namespace tenon
