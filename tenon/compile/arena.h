// The arena: where temporaries lie in the one block of memory that a call works in.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon {

// Gives every arena slot its offset, and the Function the bytes of its arena. Slots that no statement of the outermost
// block needs at once share memory; those that nothing touches get none. Largest first, each at the lowest offset that
// is free: slots × slots that live at once.
void lay_out_arena(kernel::Function& function);

}  // namespace tenon
