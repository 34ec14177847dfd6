// Products of f16, bf16 and bytes whose factors stay narrow until they are multiplied, by the kernels of
// grouped_kernels.h, or of few rows by those of few_rows.h.
#pragma once

#include "tenon/runtime/linear_algebra/grouped_kernels.h"
#include "tenon/runtime/linear_algebra/products.h"

namespace tenon {

// As tenon_gemm, of operands that either has kernels for.
enum class Grouped : std::uint8_t {
  done,
  no_memory,
  declined,  // f16 with infinities or NaN, or too few of anything: c is as it was, or unspecified if it isn't added to
};
Grouped multiply_grouped(const TenonGemm& product, DType a, DType b, const void* x, const void* y, void* z);

}  // namespace tenon
