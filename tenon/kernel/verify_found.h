// What holds of sizes, memory and elements of lists that a Function finds as it runs.
#pragma once

#include <string>

#include "tenon/base/function_ref.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Calls `wrong` with the first statement, and what is wrong with it, where
// - a size or an address is read, or named by a size, that no statement before has found: a statement finds it for
//   those behind it in its block and for the blocks that these hold;
// - memory is touched of which no statement before has found the size, or which has not been asked for since;
// - an element of a list is touched that no statement before has found, or whose size has been found since;
// - a slot of an address is named as a size, or written by what is no call;
// - blocks that run at once all find one size that is not each one's own, or a number is found that is no size, or
// larger than the slot's most. Slots themselves are sound (verify.h). Linear in the statements and the nodes of their
// expressions.
void verify_found(const Function& function, FunctionRef<void(const Statement&, const std::string&)> wrong);

}  // namespace tenon::kernel
