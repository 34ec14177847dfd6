// Copies: a value that is computed beside its place and copied there is computed in its place, where nothing forbids
// it.
#pragma once

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites the Function. A nest that only copies elements that lie behind each other is a copy, and a part of a
// temporary goes to its place where the array has room for the rest, and nothing there yet: so the stack of a loop is
// made in the concatenation of which it is a part. The new carry of a loop, written beside the old one while that is
// read, takes its place at once where what still reads the old one is the writing nest itself, at the index it writes.
// n log n in the statements, but for those that read a place where they are to write it.
void forward_copies(Function& function);

// Every access of one slot becomes one of another; copies of a place onto itself go.
void replace_slot(Function& function, SlotId from, SlotId to);

// Whether a nest reads one slot only at the elements that its single store into another, moved by an offset,
// corresponds to.
bool reads_where_it_writes(const Nest& n, SlotId read, SlotId written, const Affine& moved);

}  // namespace tenon::kernel
