// Merging: a reduction of what the nest before it stores happens in that nest.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites the Function: one pass over memory instead of two; of all that the nest stores, or of each of its rows,
// where these are long. Linear in the expressions.
void merge_reductions(Function& function, const Target& target = {});

}  // namespace tenon::kernel
