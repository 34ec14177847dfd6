// Comparisons and extremes of complex numbers too: these stand in the order of their real parts, and of their imaginary
// parts where those are equal, as NumPy has them. What is NaN in either part is NaN. Real numbers and integers as
// operator<, max() and amax() have them.
#pragma once

#include "tenon/ir/array.h"
#include "tenon/ops/reductions/reduce.h"

namespace tenon::order {

// Element by element: operands broadcast and meet in one dtype; bool[…].
//   order::less(Array{std::complex<float>(1, 2)}, Array{std::complex<float>(1, 3)})   // true
Array less(const Operand& x, const Operand& y);
Array less_equal(const Operand& x, const Operand& y);
Array greater(const Operand& x, const Operand& y);
Array greater_equal(const Operand& x, const Operand& y);
// The larger or the smaller; where both are equal the derivative is half of each.
//   order::maximum(Array{std::complex<float>(1, 2)}, Array{std::complex<float>(1, 3)})   // 1+3i
Array maximum(const Operand& x, const Operand& y);
Array minimum(const Operand& x, const Operand& y);
// The largest or the smallest along axes; the derivative is shared by those that are equal to it. Of no elements: a
// ShapeError.
//   order::largest(Array{std::complex<float>(1, 2), std::complex<float>(0, 9)})   // 1+2i
Array largest(const Operand& x, const Axes& axes = {});
Array smallest(const Operand& x, const Axes& axes = {});

}  // namespace tenon::order
