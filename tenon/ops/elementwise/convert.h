// Changes of dtype, and the parts of complex numbers.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// Value in another dtype. Real to integer truncates toward zero, saturates, and makes NaN 0; to bool: x != 0; complex
// to real keeps the real part.
Array convert(const Operand& x, DType dtype);

Array widened(const Array& x);  // f8, f16 and bf16 in f32, in which they are computed; others as they are
Array real(const Operand& x);   // x itself where it is real
Array imag(const Operand& x);
Array conj(const Operand& x);
Array complex(const Operand& re, const Operand& im);  // of f32 or f64 parts
Array times_i(const Array& z);

}  // namespace tenon
