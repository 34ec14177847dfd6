// The arena: where temporaries lie in the one block of memory that a call works in.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Gives every arena slot its offset, and the Function the bytes of its arena. Local slots of a program that has too
// many for a stack become arena slots. Slots that no statement of the outermost block needs at once share memory; those
// that nothing touches get none. Up to 512 slots are placed largest first, each at the lowest offset that is free; more
// in the order of statements, in n log n. What is as large as running tells is asked for by calls, where its sizes have
// been found.
void lay_out_arena(Function& function, const Target& target = {});

}  // namespace tenon::kernel
