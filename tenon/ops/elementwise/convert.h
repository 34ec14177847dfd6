// Changes of dtype, and the parts of complex numbers.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// Value in another dtype. Real to integer truncates toward zero, saturates, and makes NaN 0; to bool: x != 0; complex
// to real keeps the real part.
//   convert(Array{1.7f, -1.7f, NAN}, DType::i32)   // 1 -1 0
Array convert(const Operand& x, DType dtype);

// f8, f16 and bf16 in f32, in which they are computed; others as they are.
//   widened(convert(Array{1.5f}, DType::bf16))   // 1.5
Array widened(const Array& x);
// The real part, which is x itself where it is real; the imaginary part, zeros where x is real; and the number with the
// other sign of its imaginary part. Parts of c64 are f32, of c128 f64.
//   imag(Array{std::complex<float>(1, 2)})   // 2
//   conj(Array{std::complex<float>(1, 2)})   // 1-2i
Array real(const Operand& x);
Array imag(const Operand& x);
Array conj(const Operand& x);
// re + i·im: c64 of f32 parts, c128 of f64 ones, which broadcast.
//   complex(Array{1.f, 3.f}, 2.f)   // 1+2i 3+2i
Array complex(const Operand& re, const Operand& im);
// i·z, of a complex z, exactly: parts change places.
//   times_i(Array{std::complex<float>(1, 2)})   // -2+1i
Array times_i(const Array& z);

}  // namespace tenon
