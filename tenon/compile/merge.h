// Merging: a reduction of what the nest before it stores happens in that nest.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon {

// Rewrites the Function: one pass over memory instead of two. Linear in the expressions.
void merge_reductions(kernel::Function& function);

}  // namespace tenon
