// Idle stores: what writes back what is there already is not written, nor read for that.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites the Function. A store of a choice between a new value and what its place holds becomes a store of the new
// value under that condition: of lanes that have ended nothing is read or written. Only where lanes are not stored side
// by side anyway, or one condition is of a whole row. Run after split_nests; statements × such stores of a block.
void mask_stores(Function& function);

}  // namespace tenon::kernel
