// Divided axes: a nest whose index is divided by a number counts quotients and remainders itself.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites the Function. Where the index of a long axis is read as i / c and i % c, as it is of an array that a reshape
// makes of rows, the axis becomes two, of the quotients and of the remainders: what depends on one of them is read row
// by row, and vectors need no divisions. Of rows of 16 elements on, where there are 64 rows or more; what is behind the
// last whole row is a nest of its own. The order of the indices stays. Run behind split_nests; linear in the
// expressions, times the axes that are divided.
void divide_axes(Function& function);

}  // namespace tenon::kernel
