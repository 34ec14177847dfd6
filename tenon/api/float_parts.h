// Numbers by their bits, as <cmath> and <bit> name what these tell: fractions and exponents, distances to the next
// number, bits that are set. Operands broadcast.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// x = fraction · 2^exponent with 0.5 ≤ |fraction| < 1; x and 0 of zeros, infinities and NaN. Subnormal numbers too.
// Integers become f32 (64-bit ones f64); complex numbers are a DTypeError. exponent: i32. The derivative of the
// fraction is 2^-exponent.
//   frexp(-6.f)   // -0.75, 3
struct FloatParts {
  Array fraction, exponent;
};
FloatParts frexp(const Operand& x);
// x · 2^exponent without overflow on the way. Subnormal results are zeros where programs are compiled. Throws
// DTypeError of complex x, and where exponents are not of integers or bool.
//   ldexp(0.75f, 3)   // 6
Array ldexp(const Operand& x, const Operand& exponent);

// How far the next float is from x, away from 0, with the sign of x (of f16 the next one above, as NumPy has it); NaN
// where x is infinite or NaN. Integers become f32 (64-bit ones f64); complex numbers are a DTypeError.
//   spacing(1.f)   // 2^-23 = 1.192093e-07
Array spacing(const Operand& x);

// How many bits of integers are set (of negative ones those of their two's complement), and how many stand before the
// first one that is: in x's dtype. Others are a DTypeError.
//   popcount(Array{3, -1})   // 2 32
//   countl_zero(Array{1})    // 31
Array popcount(const Operand& x);
Array countl_zero(const Operand& x);

// The bits of integers moved y places down, whether x is signed or not: zeros come in from the left, or its first bit.
// y counts as of x's dtype; by the width or more, or by a negative number, none or that bit is left. Others are a
// DTypeError.
//   shift_right_logical(Array{12, -1}, 28)      // 0 15
//   shift_right_arithmetic(Array{12, -16}, 2)   // 3 -4
Array shift_right_logical(const Operand& x, const Operand& y);
Array shift_right_arithmetic(const Operand& x, const Operand& y);

// The upper half of the bits of the whole product of integers, in the dtype in which they meet: of n bits
// x · y / 2^n rounded down, without overflow. Others are a DTypeError, also where signed and unsigned integers meet in
// a real dtype. No derivative flows.
//   mulhi(Array{2000000000}, 2000000000)   // 931322574
Array mulhi(const Operand& x, const Operand& y);

}  // namespace tenon
