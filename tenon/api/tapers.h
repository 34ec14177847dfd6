// Windows of n samples that fall off towards both ends, symmetric, as NumPy names them; signal::hann() is a period of
// one that goes on. Of f32 or another real dtype, computed in f64 where n is known. n may be any Dim; 1 of n = 1, no
// elements where it is 0 or less.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// A triangle, 0 at both ends.
//   bartlett(5)   // 0 0.5 1 0.5 0
Array bartlett(const Dim& n, DType dtype = DType::f32);
// 0.5 + 0.5 cos πx of x from -1 to 1; 0.54 + 0.46 cos πx; 0.42 + 0.5 cos πx + 0.08 cos 2πx.
//   hanning(5)   // 0 0.5 1 0.5 0
Array hanning(const Dim& n, DType dtype = DType::f32);
Array hamming(const Dim& n, DType dtype = DType::f32);
Array blackman(const Dim& n, DType dtype = DType::f32);
// I₀(β √(1 - x²)) / I₀(β): the larger β, the narrower. β is a number. Derivatives in it.
//   kaiser(3, 1.0)   // 0.7898483 1 0.7898483
Array kaiser(const Dim& n, const Operand& beta, DType dtype = DType::f32);

}  // namespace tenon
