// More functions of each element by itself, as NumPy and <cmath> name them. Operands broadcast and meet in one dtype;
// integers become f32 (64-bit ones f64) where the result is real; f8, f16 and bf16 are computed as they are.
// Derivatives of any order.
#pragma once

#include <cstdint>

#include "tenon/ir/array.h"

namespace tenon {

// log(exp(x) + exp(y)) and log2(2^x + 2^y), without overflow, of complex numbers too. Tangents of both are multiplied
// by weights in [0, 1], never subtracted: an infinite one stays.
//   logaddexp(1000.0, 1000.0)   // 1000 + log 2 = 1000.693
//   logaddexp2(3.0, 3.0)   // 4
Array logaddexp(const Operand& x, const Operand& y);
Array logaddexp2(const Operand& x, const Operand& y);

// sin(πx) / (πx), and 1 at 0, where derivatives are exact too.
//   sinc(Array{0.f, 0.5f})   // 1 0.6366198
Array sinc(const Operand& x);

// Rounded toward zero; integers as they are.
//   trunc(Array{1.7f, -1.7f})   // 1 -1
Array trunc(const Operand& x);
// Rounded to so many decimals, halves to even: integers to multiples of powers of ten where `decimals` is negative, of
// complex numbers both parts. Bool is a DTypeError.
//   round(1.25f, 1)   // 1.2
//   round(125, -1)    // 120
Array round(const Operand& x, std::int64_t decimals);

// The nearest integer, halves away from 0; integers as they are. Complex numbers are a DTypeError. The derivative is 0.
//   round_half_away(Array{0.5f, -2.5f, 2.4f})   // 1 -3 2
Array round_half_away(const Operand& x);

// Whether the sign is minus, of -0 and NaN too; |x| with the sign of y. Complex numbers are a DTypeError.
//   copysign(3.f, -0.f)   // -3
Array sign_bit(const Operand& x);
Array copysign(const Operand& x, const Operand& y);
// 0 below 0, 1 above, y at 0, NaN of NaN. Real.
//   heaviside(Array{-1.f, 0.f, 2.f}, 0.5f)   // 0 0.5 1
Array heaviside(const Operand& x, const Operand& y);

// The larger, and the smaller: of a number and NaN the number. Complex numbers by their real parts first.
//   fmax(NAN, 1.f)   // 1
Array fmax(const Operand& x, const Operand& y);
Array fmin(const Operand& x, const Operand& y);

// Whether x is infinite (of complex numbers in either part); false of integers.
//   is_inf(Array{1.f, -INFINITY, NAN})   // false true false
Array is_inf(const Operand& x);
// Numbers in the place of NaN and infinities: those here, the largest of the dtype where they are not given; of complex
// numbers in each part. Integers as they are.
//   nan_to_num(Array{NAN, 1.f})   // 0 1
struct NanToNumOptions {
  Array nan = 0.0;
  MaybeArray above = {}, below = {};  // of infinity, and of -infinity
};
Array nan_to_num(const Operand& x, const NanToNumOptions& options = {});
// |x - y| ≤ atol + rtol |y|; of infinities equality, and of two NaN `equal_nan`.
//   is_close(Array{1.f, 1.f}, Array{1.000001f, 1.1f})   // true false
struct CloseOptions {
  Array rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
Array is_close(const Operand& x, const Operand& y, const CloseOptions& options = {});

// Degrees as radians, and back.
//   radians(180.0)   // π = 3.141593
Array radians(const Operand& x);
Array degrees(const Operand& x);

// The greatest common divisor and the least common multiple of integers, not negative, by Euclid's algorithm; of 0 and
// 0 both are 0. Others are a DTypeError.
//   gcd(12, 18)   // 6
Array gcd(const Operand& x, const Operand& y);
Array lcm(const Operand& x, const Operand& y);

}  // namespace tenon
