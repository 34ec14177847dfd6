// Contractions. Whatever the spelling, they meet in one op, dot_general.
#pragma once

#include <optional>
#include <string_view>

#include "tenon/ir/array.h"

namespace tenon {

// Sums over pairs of axes of a and b; batch axes go in step. The result's axes: batch, the rest of a's, the rest of
// b's. Its dtype is what a and b meet in: products of f8, f16 and bf16 are summed in f32 and rounded once, integers
// wrap. With `preferred` the sums are taken in what that and the operands meet in, so bytes in i32 without wrapping,
// bf16 in f32 without rounding, and the result is of that dtype. Bytes may be i8 and u8 together. Compiled code and the
// library multiply the narrow numbers as they are, but floats of 8 bits as bf16, which holds them; of such and another
// float the result has the dtype with the larger numbers. Throws ShapeError where axes do not fit, DTypeError where
// `preferred` has no place for what is summed: integers for floats, real numbers for complex ones.
//   dot_general(Array{{1, 2}, {3, 4}}, Array{1, 10}, {.contract_a = {0}, .contract_b = {0}})   // 31 42
struct DotAxes {
  std::vector<std::int64_t> contract_a, contract_b, batch_a, batch_b;
};
Array dot_general(const Operand& a, const Operand& b, DotAxes axes, std::optional<DType> preferred = {});

// As NumPy: matrices in the last two axes, the others broadcast; a vector on either side is a row or a column. dtypes
// as of dot_general.
//   matmul(Array{{1, 2}, {3, 4}}, Array{1, 10})   // 21 43
Array matmul(const Operand& a, const Operand& b);
Array matmul(const Operand& a, const Operand& b, std::optional<DType> preferred);

// The dtype in which `function` sums products of `factors` for a result that is to be `preferred`; or DTypeError.
DType summed_in(std::string_view function, DType factors, DType preferred);

// Of two vectors the inner product, Σ aᵢ bᵢ; else matmul. dtypes as of dot_general.
//   dot(Array{1, 2}, Array{3, 4})   // 11
Array dot(const Operand& a, const Operand& b);
// aᵢ bⱼ: of two vectors [n, m], of other arrays the axes of a and then those of b.
//   outer(Array{1, 2}, Array{3, 4})   // 3 4, 6 8
Array outer(const Operand& a, const Operand& b);
// The vector product of vectors of 3 along the last axis; others broadcast. Other axes: tenon/api/vectors.h.
//   cross(Array{1, 0, 0}, Array{0, 1, 0})   // 0 0 1
Array cross(const Operand& a, const Operand& b);

}  // namespace tenon
