// Contractions. Whatever the spelling, they meet in one op, dot_general.
#pragma once

#include <string_view>

#include "tenon/ir/array.h"

namespace tenon {

// Sums over pairs of axes of a and b; batch axes go in step. The result's axes: batch, the rest of a's, the rest of
// b's.
struct DotAxes {
  std::vector<std::int64_t> contract_a, contract_b, batch_a, batch_b;
};
Array dot_general(const Operand& a, const Operand& b, DotAxes axes);

// As NumPy: matrices in the last two axes, the others broadcast; a vector on either side is a row or a column.
Array matmul(const Operand& a, const Operand& b);

// "ij,jk->ik" and the like, for one or two operands; without "->" the letters that occur once, in alphabetical order.
Array einsum(std::string_view equation, const Operand& a);
Array einsum(std::string_view equation, const Operand& a, const Operand& b);

Array dot(const Operand& a, const Operand& b);    // of two vectors: the inner product; else matmul
Array outer(const Operand& a, const Operand& b);  // of two vectors
Array cross(const Operand& a, const Operand& b);  // of vectors of 3 along the last axis

}  // namespace tenon
