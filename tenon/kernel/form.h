// The form of a statement: what it does, but for which memory it does it to.
#pragma once

#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/base/hash.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Statements of equal hashes do the same to the first of their slots, to the second, and so on. Loop variables are
// numbered within the statement, as slots are.
struct Form {
  Hash128 hash;
  std::vector<SlotId> slots;  // each once, in the order in which the statement names them
};
// `describe` adds what has to be equal of a slot. Of a statement within the outermost block. Linear in its nodes.
Form form_of(const Statement& s, FunctionRef<void(Hasher&, SlotId)> describe);

}  // namespace tenon::kernel
