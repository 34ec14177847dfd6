// How operands of different shapes and dtypes meet, before an op is bound: as in NumPy and JAX.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// The shape that operands broadcast to. A symbolic size never broadcasts as 1. Throws ShapeError naming `op`.
Shape broadcast_shapes(std::string_view op, std::span<const Array> operands);

// Operands converted to the dtype they meet in and broadcast to one shape; `weak`: all of them were.
struct Met {
  Arrays operands;
  bool weak;
};
Met meet(std::string_view op, std::span<const Array> operands);
// The dtype that operands of `op` meet in. Throws DTypeError where there is none: of a float of 8 bits and another one.
Promoted promoted(std::string_view op, std::span<const Array> operands);
inline Promoted promoted(std::string_view op, std::initializer_list<Array> operands) {
  return promoted(op, std::span(operands.begin(), operands.size()));
}
// Operands converted to it, in shapes of their own.
Met in_one_dtype(std::span<const Array> operands);
inline Met meet(std::string_view op, std::initializer_list<Array> operands) {
  return meet(op, std::span(operands.begin(), operands.size()));
}

// The same of functions of real and complex numbers: integers become f32, 64-bit ones f64, where they meet integers,
// and what they meet elsewhere.
Met meet_inexact(std::string_view op, std::span<const Array> operands);
inline Met meet_inexact(std::string_view op, std::initializer_list<Array> operands) {
  return meet_inexact(op, std::span(operands.begin(), operands.size()));
}
Met in_one_inexact_dtype(std::span<const Array> operands);

// `value` in the dtype of `into`, of which it becomes a part. Throws DTypeError, naming `op`, where that would lose
// what meeting it would not: numbers with fractions in integers, f64 in f32. A number that is written down goes into
// integers where it fits exactly, and is rounded in real ones.
Array convert_into(std::string_view op, const Array& into, const Array& value);

// The operand itself where it is real or complex; integers become f32, 64-bit ones f64.
Array to_inexact(const Array& x);

}  // namespace tenon
