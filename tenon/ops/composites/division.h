// Division rounded down, and what divisions leave, as NumPy names them. Operands broadcast and meet in one dtype; bool
// counts as i32, complex numbers are a DTypeError.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// x / y rounded down, of real numbers too; integers divided by 0 have no meaning. Its derivative is 0.
//   floor_divide(Array{7, -7}, 2)   // 3 -4
Array floor_divide(const Operand& x, const Operand& y);
// What that leaves, x - y floor_divide(x, y), exactly: it has the sign of y. Of integers 0 where y is 0, of real
// numbers NaN there.
//   remainder(Array{7, -7}, 3)   // 1 2
Array remainder(const Operand& x, const Operand& y);
// What division toward zero leaves, as x % y: it has the sign of x. Of integers 0 where y is 0.
//   fmod(Array{7, -7}, 3)   // 1 -1
Array fmod(const Operand& x, const Operand& y);

}  // namespace tenon
