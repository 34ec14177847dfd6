// Views of products: matrices that products read and write where they lie, not in copies of them.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites the Function. A product reads the memory that an operand is a strided copy of, where nothing writes there in
// between; it writes the memory that its result goes to, and adds to what is there where its result is added to that. A
// large value that one nest computes and another moves is computed where it goes. Run after split_nests;
// statements × such values of a block.
void view_products(Function& function);

}  // namespace tenon::kernel
