// Tiles: rows that all read the same long rows of others, some rows of a part of the columns at a time.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites the Function. Where what each row of a nest reads of arrays that have one row for all does not fit the
// first-level cache, as means and scales of columns, some rows go through a part of the columns before the next part,
// so that these numbers are read from there. To the bit; linear in the expressions.
void tile_columns(Function& function, const Target& target = {});

}  // namespace tenon::kernel
