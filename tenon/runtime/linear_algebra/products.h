// Matrix products for generated code, hence the C names: one description, then calls with pointers.
#pragma once

#include <cstdint>

extern "C" {

// c[i, j] = sum over l of a[i, l] * b[l, j] for i < m, j < n, l < k, in each of `batch` products. Strides are in
// elements and may have any value, 0 and negative ones included; a transposed operand is one with its strides
// exchanged. Elements of c must be distinct and must not overlap a or b. Plain data: fill it on the stack, or once as a
// constant.
struct TenonGemm {
  std::int32_t dtype;       // the number of a tenon::DType, of c, and of a and b where nothing else is said of them
  std::int32_t accumulate;  // 0: c = a b; otherwise c += a b
  std::int64_t batch, m, n, k;
  std::int64_t a_batch, a_row, a_column;
  std::int64_t b_batch, b_row, b_column;
  std::int64_t c_batch, c_row, c_column;
  // Of a and of b where they are narrower, -1 otherwise: both f16 or both bf16, whose sums are f32 then, or i8 and u8,
  // whose sums are integers of 32 bits.
  std::int32_t a_dtype = -1, b_dtype = -1;
};

// Sums of f16 and bf16 are taken in f32 and rounded once; integers wrap; of booleans the sum is "or", the product
// "and". No factor is skipped, so NaN and Inf go where IEEE sends them. k = 0 gives zeros. Large products use all
// threads, unless called inside a parallel body, and end soon once the Context in force is cancelled, with c
// unspecified. Returns 0, or 1 where memory for intermediate values is lacking (c is then unspecified). Thread-safe;
// changes no setting of the process.
std::int32_t tenon_gemm(const TenonGemm* product, const void* a, const void* b, void* c);
}
