// Numbers as their bits, and floats next to one another.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// The bits of numbers as numbers of another dtype: integers and floats, not bools and not complex numbers. To a smaller
// dtype each number becomes several along a new last axis, its low bits first: f32[…] -> u8[…, 4]. To a larger one the
// last axis, which has just as many as one number takes, becomes that number: u8[…, 4] -> f32[…]. No derivative flows.
//   bitcast(Array{1.f}, DType::i32)   // 0x3f800000 = 1065353216
//   bitcast(convert(Array{258}, DType::u16), DType::u8)   // 2 1
Array bitcast(const Operand& x, DType dtype);

// The upper and the lower halves of u64, u32.
struct TwoWords {
  Array upper, lower;
};
//   words_of(convert(Array{258}, DType::u64))   // 0, 258
TwoWords words_of(const Array& x);

// The float next to x in the direction of y; y where they are equal, NaN where either is. From 0 it is the smallest
// subnormal number. It moves with x: the derivative is 1 in x and 0 in y.
//   nextafter(1.f, 2.f) - 1.f   // 2^-23 = 1.192093e-07
Array nextafter(const Operand& x, const Operand& y);

// x rounded, ties to even, to what a format with that many bits for the exponent (at least 1) and for the mantissa (at
// least 0) can hold, in the dtype of x: above its largest number Inf; subnormal numbers of a format with fewer bits for
// the exponent are 0; NaN stays NaN. Tangents and cotangents are rounded likewise.
//   reduce_precision(Array{1.3f}, 8, 2)   // 1.25
Array reduce_precision(const Operand& x, std::int64_t exponent_bits, std::int64_t mantissa_bits);

}  // namespace tenon
