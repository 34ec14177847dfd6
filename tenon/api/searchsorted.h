// Where numbers belong among others that are in order.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

enum class Side { left, right };

// For each of `values` the number of elements of a vector in ascending order that are less (left), or not greater
// (right): where it would be put in. i32 of values' shape, i64 where the vector has 2^31 elements or more. The two
// promote to one dtype; NaN comes last, as sort() has it. No derivative. By halving: log n reads a value.
//   searchsorted(Array{1.f, 2.f, 3.f}, 2.f)                // 1
//   searchsorted(Array{1.f, 2.f, 3.f}, 2.f, Side::right)   // 2
// Throws ShapeError where the first is no vector.
Array searchsorted(const Operand& ordered, const Operand& values, Side side = Side::left);

}  // namespace tenon
