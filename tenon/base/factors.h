// Factors of matrix products that are narrower than what they are summed in.
#pragma once

#include "tenon/base/dtype.h"

namespace tenon {

constexpr bool is_byte(DType d) { return d == DType::i8 || d == DType::u8; }

// Whether a matrix product multiplies factors of these dtypes and sums them in `sum`, as it would their conversions to
// it: halves of one kind in f32, bytes in integers of 32 bits. The slots of a kernel::Product's operands may have them.
constexpr bool are_factors(DType a, DType b, DType sum) {
  if (is_half(a)) return a == b && sum == DType::f32;
  return is_byte(a) && is_byte(b) && (sum == DType::i32 || sum == DType::u32);
}

}  // namespace tenon
