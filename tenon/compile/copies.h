// Copies: a value that is computed beside its place and copied there is computed in its place, where nothing forbids
// it.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon {

// Rewrites the Function. The new carry of a loop, written beside the old one while that is read, takes its place at
// once where what still reads the old one is the writing nest itself, at the index it writes. Statements × copies of a
// block.
void forward_copies(kernel::Function& function);

}  // namespace tenon
