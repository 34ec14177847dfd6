// Packing: scalars that a loop computes alike become lanes of one array.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites the Function. Where a loop's body computes many scalars by expressions of one form (a carry with many
// leaves), they move into one local array that is computed as vectors; a lane's neighbours are reached through an index
// table, which becomes shuffles of registers. Run after forward_copies. Linear in the expressions of scalar nests.
void pack_scalars(Function& function, const Target& target = {});

}  // namespace tenon::kernel
