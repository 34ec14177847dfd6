// Copies: a value that is computed beside its place and copied there is computed in its place, where nothing forbids
// it.
#pragma once

#include "tenon/kernel/affine.h"
#include "tenon/kernel/function.h"

namespace tenon {

// Rewrites the Function. The new carry of a loop, written beside the old one while that is read, takes its place at
// once where what still reads the old one is the writing nest itself, at the index it writes. Statements × copies of a
// block.
void forward_copies(kernel::Function& function);

// Every access of one slot becomes one of another; copies of a place onto itself go.
void replace_slot(kernel::Function& function, kernel::SlotId from, kernel::SlotId to);

// Whether a nest reads one slot only at the elements that its single store into another, moved by an offset,
// corresponds to.
bool reads_where_it_writes(const kernel::Nest& n, kernel::SlotId read, kernel::SlotId written,
                           const kernel::Affine& moved);

}  // namespace tenon
