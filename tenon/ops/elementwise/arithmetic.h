// Elementwise arithmetic and functions. Operands broadcast and promote as in NumPy and JAX; NaN and signed zero are
// kept.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// x + y, x - y, x * y: wrap around for integers; `or`, `and`-like for bool are refused (use | and &).
//   Array{1, 2} + 3   // 4 5
//   Array{{1.f}, {2.f}} * Array{3.f, 4.f}   // 3 4, 6 8
Array operator+(const Operand& x, const Operand& y);
Array operator-(const Operand& x, const Operand& y);
Array operator*(const Operand& x, const Operand& y);
// x / y: real division; between integers it truncates toward zero, and x / 0 is -1.
//   Array{7.f} / 2   // 3.5
//   Array{7, -7} / 2   // 3 -3
Array operator/(const Operand& x, const Operand& y);
// Remainder with the sign of x; x % 0 is x between integers.
//   Array{7, -7} % 3   // 1 -1
Array operator%(const Operand& x, const Operand& y);
// The negative: of unsigned integers modulo 2^bits.
//   -Array{1, -2}   // -1 2
Array operator-(const Operand& x);
// x becomes x + y and so on, of the shape and dtype that this has: an array may grow.
//   Array x{1, 2};
//   x += 3   // 4 5
inline Array& operator+=(Array& x, const Operand& y) { return x = Operand(x, y.where()) + y; }
inline Array& operator-=(Array& x, const Operand& y) { return x = Operand(x, y.where()) - y; }
inline Array& operator*=(Array& x, const Operand& y) { return x = Operand(x, y.where()) * y; }
inline Array& operator/=(Array& x, const Operand& y) { return x = Operand(x, y.where()) / y; }

// x to the power y, of real or complex numbers; integers become f32 (64-bit ones f64). Where y is a C++ integer,
// products take its place: exact for integers, and up to y = 64 for other dtypes.
//   pow(Array{2.f, 9.f}, 0.5f)   // 1.414214 3
//   pow(Array{2, -3}, 3)   // 8 -27
Array pow(const Operand& x, const Operand& y);
// By repeated squaring, and 1 / x^-n for negative exponents.
//   integer_pow(Array{2.f, -3.f}, -2)   // 0.25 0.1111111
Array integer_pow(const Operand& x, std::int64_t exponent);
// Integers to the power integers, in the dtype in which they meet: products wrap around. Of a negative exponent, 1/x^-n
// rounded toward zero, which is 0 but of 1 and -1 (and of 0).
//   integer_pow(Array{2, -1, 2}, Array{10, -3, -1})   // 1024 -1 0
Array integer_pow(const Operand& x, const Operand& exponent);
// The angle of the point (x, y), from -π to π; of complex numbers -i·log((x + iy) / √(x² + y²)).
//   atan2(1.0, -1.0)   // 3π / 4 = 2.356194
Array atan2(const Operand& y, const Operand& x);
// Where either is NaN so is the result. At a tie the gradient is shared equally.
//   max(Array{1.f, 5.f}, 3.f)   // 3 5
//   min(Array{1.f, NAN}, 3.f)   // 1 nan
Array max(const Operand& x, const Operand& y);
Array min(const Operand& x, const Operand& y);

// The absolute value, of complex numbers the modulus, which is real; the derivative at 0 is 1 of real and 0 of complex
// numbers.
//   abs(Array{-2, 3})   // 2 3
//   abs(Array{std::complex<float>(3, -4)})   // 5
Array abs(const Operand& x);
// -1, 0 or 1, in the dtype of x; NaN of NaN. Of complex numbers x / |x|, and 0 at 0.
//   sign(Array{-2.f, 0.f, 3.f})   // -1 0 1
Array sign(const Operand& x);
// Rounded down, up, and to the nearest whole number, halves to even; in the dtype of x. The derivative is 0.
//   floor(Array{1.5f, -1.5f})   // 1 -2
//   ceil(Array{1.5f, -1.5f})   // 2 -1
//   round(Array{0.5f, 1.5f, -1.5f})   // 0 2 -2
Array floor(const Operand& x);
Array ceil(const Operand& x);
Array round(const Operand& x);
// √x and 1 / √x: NaN of negative numbers; of complex ones the root whose real part is not negative.
//   sqrt(16.0)   // 4
//   rsqrt(16.0)   // 0.25
//   sqrt(Array{std::complex<float>(-4, 0)})   // 2i
Array sqrt(const Operand& x);
Array rsqrt(const Operand& x);
// e^x, and e^x - 1, exact near 0.
//   exp(1.0)   // 2.718282
//   expm1(Array{1e-12})   // 1e-12
Array exp(const Operand& x);
Array expm1(const Operand& x);
// The natural logarithm of x and of 1 + x, exact near 0: -∞ of 0, NaN below; of complex numbers the imaginary part is
// the angle, from -π to π.
//   log(2.0)   // 0.6931472
//   log1p(Array{1e-12})   // 1e-12
//   log(Array{std::complex<float>(-1, 0)})   // 3.141593i
Array log(const Operand& x);
Array log1p(const Operand& x);
// Trigonometric functions, of radians; NaN of infinities.
//   sin(1.0)   // 0.841471
//   cos(1.0)   // 0.5403023
//   tan(1.0)   // 1.557408
Array sin(const Operand& x);
Array cos(const Operand& x);
Array tan(const Operand& x);
// Hyperbolic functions; their inverses are in tenon/api/special.h.
//   tanh(1.0)   // 0.7615942
//   sinh(1.0)   // 1.175201
//   cosh(1.0)   // 1.543081
Array tanh(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
// Inverse trigonometric functions, in radians: asin and atan from -π/2 to π/2, acos from 0 to π; NaN outside [-1, 1].
// Of complex numbers, as asinh, acosh and atanh (tenon/api/special.h), within 1e-15 of the result's size in f64, for
// large and small arguments too: on a branch cut the sign of the zero beside it says which side is meant, of slopes as
// well; infinities and NaN are as in C's Annex G.
//   asin(1.0)   // π / 2 = 1.570796
//   acos(0.5)   // π / 3 = 1.047198
//   atan(1.0)   // π / 4 = 0.7853982
Array asin(const Operand& x);
Array acos(const Operand& x);
Array atan(const Operand& x);
// 1 / (1 + exp(-x)), from 0 to 1.
//   logistic(Array{0.f, -200.f})   // 0.5 0
Array logistic(const Operand& x);
// The error function 2/√π ∫₀ˣ exp(-t²) dt; 1 - erf(x), exact until it underflows; and the inverse of erf: ±Inf at ±1,
// NaN outside.
//   erf(0.5)   // 0.5204999
//   erfc(Array{5.0})   // 1.53746e-12
//   erf_inv(0.5)   // 0.4769363
Array erf(const Operand& x);
Array erfc(const Operand& x);
Array erf_inv(const Operand& x);
// x · x: integers wrap around.
//   square(-3.0)   // 9
Array square(const Operand& x);
// Whether x is neither infinite nor NaN, and whether it is NaN: bool[…]; of complex numbers in both parts, and in
// either. True and false of integers.
//   is_finite(Array{1.f, INFINITY, NAN})   // true false false
//   is_nan(Array{1.f, INFINITY, NAN})   // false false true
Array is_finite(const Operand& x);
Array is_nan(const Operand& x);

// bool: logical; integers: bitwise.
//   Array{6, 1} & 3   // 2 1
//   Array{true, false} | Array{false, false}   // true false
//   !Array{true, false}   // false true
Array operator!(const Operand& x);
Array operator&(const Operand& x, const Operand& y);
Array operator|(const Operand& x, const Operand& y);
Array operator^(const Operand& x, const Operand& y);
// Integers: x·2^y, and x/2^y rounded down (zeros come in from the left where x is unsigned, else its sign). A shift by
// the width or more, or by a negative number, leaves 0 (or -1).
//   shift_left(Array{1, 3}, 2)   // 4 12
//   shift_right(Array{12, -1}, 2)   // 3 -1
Array shift_left(const Operand& x, const Operand& y);
Array shift_right(const Operand& x, const Operand& y);

// Element by element, bool[…]: operands broadcast and meet in one dtype; with NaN false, but !=. Of complex numbers ==
// and != alone: order::less() and its kin have an order for them.
//   Array{1, 2, 3} < 2   // true false false
//   Array{1, 2} == Array{1, 3}   // true false
Array operator==(const Operand& x, const Operand& y);
Array operator!=(const Operand& x, const Operand& y);
Array operator<(const Operand& x, const Operand& y);
Array operator<=(const Operand& x, const Operand& y);
Array operator>(const Operand& x, const Operand& y);
Array operator>=(const Operand& x, const Operand& y);

// if_true where the condition holds, else if_false; all three broadcast. The condition is bool: others are a
// DTypeError.
//   where(Array{true, false}, Array{1, 2}, 0)   // 1 0
Array where(const Operand& condition, const Operand& if_true, const Operand& if_false);
// The value limited to [low, high]; all three broadcast.
//   clamp(Array{-5, 0, 5}, -1, 1)   // -1 0 1
Array clamp(const Operand& x, const Operand& low, const Operand& high);

// As bound: operands of one type, no promotion. For rules and transformations.
const OpInfo& add_op();
const OpInfo& sub_op();
const OpInfo& mul_op();
const OpInfo& neg_op();
const OpInfo& exp_op();
const OpInfo& log_op();
const OpInfo& select_op();
const OpInfo& max_op();
const OpInfo& min_op();
const OpInfo& eq_op();
const OpInfo& ne_op();
const OpInfo& lt_op();
const OpInfo& or_op();

}  // namespace tenon
