// Functions that neural networks put between their layers. Element by element; integers become f32 (64-bit ones f64).
// Complex numbers stand in the order of their real parts, equal ones in that of their imaginary parts.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// 1 / (1 + exp(-x)): logistic() by its other name.
//   sigmoid(0.0)   // 0.5
Array sigmoid(const Operand& x);
// max(x, 0); its derivative at 0 is 0.
//   relu(Array{-1.f, 2.f})   // 0 2
Array relu(const Operand& x);
// x where x >= 0, else slope·x.
//   leaky_relu(Array{-2.f, 3.f}, 0.5f)   // -1 3
Array leaky_relu(const Operand& x, const Operand& slope = 0.01);
// x where x > 0, else alpha·(e^x - 1).
//   elu(Array{-100.f, 3.f}, 2.f)   // -2 3
Array elu(const Operand& x, const Operand& alpha = 1.0);
// x·sigmoid(x).
//   silu(1.0)   // 0.7310586
Array silu(const Operand& x);
// x·Φ(x) with the normal distribution Φ: by tanh (Hendrycks and Gimpel, 2016; within 5e-4) or by the error function.
//   gelu(1.f)   // 0.841192
//   gelu(1.f, Gelu::exact)   // 0.8413447
enum class Gelu : std::uint8_t { by_tanh, exact };
Array gelu(const Operand& x, Gelu form = Gelu::by_tanh);

// One more axis, `axis` of the result, of `classes` elements: 1 at the index and 0 elsewhere; all 0 where the index is
// none of 0 … classes-1.
//   one_hot(Array{2, 0, -1}, 3)   // 0 0 1, 1 0 0, 0 0 0
Array one_hot(const Operand& indices, const Dim& classes, DType dtype = DType::f32, std::int64_t axis = -1);

}  // namespace tenon
