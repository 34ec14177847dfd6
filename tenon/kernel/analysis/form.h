// The form of a statement: what it does, but for which memory it does it to.
#pragma once

#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/base/hash.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Statements of equal hashes do the same to the first of their slots, to the second, and so on, each counted from its
// base. Loop variables are numbered within the statement, as slots are.
struct Form {
  struct Access {
    SlotId slot;
    std::int64_t base;  // the offset at which it is first touched, without what loop variables add; or 0
  };
  Hash128 hash;
  std::vector<Access> slots;  // each once, in the order in which the statement names them
  std::vector<Expr> numbers;  // constants that are kept apart
};
// Constants of floating dtypes that are operands of arithmetic or stored: code for one is code for all.
enum class Numbers : std::uint8_t { hashed, apart };
// Of a statement within the outermost block. `describe` adds what has to be equal of a slot, and says whether it may be
// touched from another base on; a slot whose offsets are not affine may not. Linear in the statement's nodes.
Form form_of(const Statement& s, FunctionRef<bool(Hasher&, SlotId)> describe, Numbers numbers = Numbers::hashed);

}  // namespace tenon::kernel
