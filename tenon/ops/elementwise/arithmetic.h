// Elementwise arithmetic and functions. Operands broadcast and promote as in NumPy and JAX; NaN and signed zero are
// kept.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// x + y, x - y, x * y: wrap around for integers; `or`, `and`-like for bool are refused (use | and &).
Array operator+(const Operand& x, const Operand& y);
Array operator-(const Operand& x, const Operand& y);
Array operator*(const Operand& x, const Operand& y);
// x / y: real division; between integers it truncates toward zero, and x / 0 is -1.
Array operator/(const Operand& x, const Operand& y);
// Remainder with the sign of x; x % 0 is x between integers.
Array operator%(const Operand& x, const Operand& y);
Array operator-(const Operand& x);
inline Array& operator+=(Array& x, const Operand& y) { return x = Operand(x, y.where()) + y; }
inline Array& operator-=(Array& x, const Operand& y) { return x = Operand(x, y.where()) - y; }
inline Array& operator*=(Array& x, const Operand& y) { return x = Operand(x, y.where()) * y; }
inline Array& operator/=(Array& x, const Operand& y) { return x = Operand(x, y.where()) / y; }

// x to the power y, of real or complex numbers; integers become f32 (64-bit ones f64). Where y is a C++ integer,
// products take its place: exact for integers, and up to y = 64 for other dtypes.
Array pow(const Operand& x, const Operand& y);
Array integer_pow(const Operand& x, std::int64_t exponent);  // by repeated squaring; 1 / x^-n for negative ones
// Integers to the power integers, in the dtype in which they meet: products wrap around. Of a negative exponent, 1/x^-n
// rounded toward zero, which is 0 but of 1 and -1 (and of 0).
Array integer_pow(const Operand& x, const Operand& exponent);
// The angle of the point (x, y), from -π to π; of complex numbers -i·log((x + iy) / √(x² + y²)).
Array atan2(const Operand& y, const Operand& x);
// Where either is NaN so is the result. At a tie the gradient is shared equally.
Array max(const Operand& x, const Operand& y);
Array min(const Operand& x, const Operand& y);

Array abs(const Operand& x);   // of complex: the modulus, real; the derivative at 0 is 1 of real and 0 of complex
Array sign(const Operand& x);  // of complex: x / |x|, and 0 at 0
Array floor(const Operand& x);
Array ceil(const Operand& x);
Array round(const Operand& x);  // halves to even
Array sqrt(const Operand& x);
Array rsqrt(const Operand& x);
Array exp(const Operand& x);
Array expm1(const Operand& x);  // e^x - 1, exact near 0
Array log(const Operand& x);
Array log1p(const Operand& x);  // log(1 + x), exact near 0
Array sin(const Operand& x);
Array cos(const Operand& x);
Array tan(const Operand& x);
Array tanh(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
// Of complex numbers, as asinh, acosh and atanh (tenon/api/special.h), within 1e-15 of the result's size in f64, for
// large and small arguments too: on a branch cut the sign of the zero beside it says which side is meant, of slopes as
// well; infinities and NaN are as in C's Annex G.
Array asin(const Operand& x);
Array acos(const Operand& x);
Array atan(const Operand& x);
Array logistic(const Operand& x);  // 1 / (1 + exp(-x))
Array erf(const Operand& x);
Array erfc(const Operand& x);     // 1 - erf(x), exact until it underflows
Array erf_inv(const Operand& x);  // ±Inf at ±1, NaN outside
Array square(const Operand& x);
Array is_finite(const Operand& x);
Array is_nan(const Operand& x);

// bool: logical; integers: bitwise.
Array operator!(const Operand& x);
Array operator&(const Operand& x, const Operand& y);
Array operator|(const Operand& x, const Operand& y);
Array operator^(const Operand& x, const Operand& y);
// Integers: x·2^y, and x/2^y rounded down (zeros come in from the left where x is unsigned, else its sign). A shift by
// the width or more, or by a negative number, leaves 0 (or -1).
Array shift_left(const Operand& x, const Operand& y);
Array shift_right(const Operand& x, const Operand& y);

// Element by element, bool[…].
Array operator==(const Operand& x, const Operand& y);
Array operator!=(const Operand& x, const Operand& y);
Array operator<(const Operand& x, const Operand& y);
Array operator<=(const Operand& x, const Operand& y);
Array operator>(const Operand& x, const Operand& y);
Array operator>=(const Operand& x, const Operand& y);

// if_true where the condition holds, else if_false; all three broadcast.
Array where(const Operand& condition, const Operand& if_true, const Operand& if_false);
// The value limited to [low, high].
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
