// Merging: a reduction of what the nest before it stores happens in that nest, or several of the same indices.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites the Function: one pass over memory instead of two; of all that the nest stores, or of each of its rows,
// where these are long. Along short outer axes the reduction has several results; what nothing else reads is not
// stored. Linear in the expressions, of so many results.
void merge_reductions(Function& function, const Target& target = {});

}  // namespace tenon::kernel
