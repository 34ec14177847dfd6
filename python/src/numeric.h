// NumPy's arithmetic where it differs from the library's ops: of bools, division of integers, powers.
#pragma once

#include "tenon/ir/array.h"

namespace tenon::python::numeric {

Array positive(const Operand& x);
Array add(const Operand& x, const Operand& y);          // of two bools: or
Array multiply(const Operand& x, const Operand& y);     // of two bools: and
Array true_divide(const Operand& x, const Operand& y);  // of integers and bools: real numbers
Array absolute(const Operand& x);                       // bools as they are
Array square(const Operand& x);
Array shift_left(const Operand& x, const Operand& y);
Array shift_right(const Operand& x, const Operand& y);
// x and y as real or complex numbers, met before: atan2 and its kin.
Array arctan2(const Operand& y, const Operand& x);
// Of integers: an integer, wrapped around; to a negative power 0, but for those of 1 and -1.
Array power(const Operand& x, const Operand& y);

}  // namespace tenon::python::numeric
