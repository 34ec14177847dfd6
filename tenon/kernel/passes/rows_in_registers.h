// Rows of few elements, computed in registers.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites the Function. Statements that work row by row on arrays whose rows have few elements (the matrices of a
// batch, the coordinates of points) become one nest over the rows: vectors go along them, and all elements of a row are
// values of its body. So what is stacked, taken apart, turned by indices that are known, masked or summed within a row
// is a choice of values and no memory. Only where that is fewer instructions than vectors along a row's few elements,
// and where results leave as whole rows. Run before divide_into_blocks. Linear in what all elements of a row compute,
// which is bounded for each nest; a statement looks back over few nests that it could join.
void keep_rows_in_registers(Function& function);

}  // namespace tenon::kernel
