// Numbers by which statements differ that are otherwise equal become data, so that the statements share code.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Where several statements of a long outermost block are equal but for constants that they add, multiply, compare or
// store, as the steps of a schedule are, each reads those that differ from a slot of its own. Two walks over the
// statements.
void read_numbers(Function& function);

}  // namespace tenon::kernel
