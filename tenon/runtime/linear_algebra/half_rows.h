// Rows of f16 and bf16 elements to f32 and back, rounded to nearest even; NaN stays NaN.
#pragma once

#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon {

void widen_row(const Float16* from, float* to, std::int64_t count);
void widen_row(const BFloat16* from, float* to, std::int64_t count);
void round_row(const float* from, Float16* to, std::int64_t count);
void round_row(const float* from, BFloat16* to, std::int64_t count);

// sums[j] += Σ x[l] rows[l·distance + j] for j < count, of eight rows; and Σ x[l] row[l] for l < count.
void add_eight_rows(const Float16* rows, std::int64_t distance, const float* x, float* sums, std::int64_t count);
void add_eight_rows(const BFloat16* rows, std::int64_t distance, const float* x, float* sums, std::int64_t count);
float inner_product_of_row(const Float16* row, const float* x, std::int64_t count);
float inner_product_of_row(const BFloat16* row, const float* x, std::int64_t count);

}  // namespace tenon
