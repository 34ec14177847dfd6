// Rows of f16 and bf16 elements to f32 and back, rounded to nearest even; NaN stays NaN.
#pragma once

#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon {

void widen_row(const Float16* from, float* to, std::int64_t count);
void widen_row(const BFloat16* from, float* to, std::int64_t count);
void round_row(const float* from, Float16* to, std::int64_t count);
void round_row(const float* from, BFloat16* to, std::int64_t count);

}  // namespace tenon
