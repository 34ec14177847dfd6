#include "tenon/kernel/move_slots.h"

#include "tenon/kernel/expressions.h"

namespace tenon::kernel {

void MoveSlots::statement(Statement& s) {
  for_each_expression(s, [&](Expr& e) { e = (*this)(e); });
  for_each_place(s, [&](SlotId& slot, Expr& offset, bool) {
    const auto found = targets_.find(slot);
    if (found == targets_.end()) return;
    slot = found->second.slot;
    offset = offset + found->second.offset;
  });
  for_each_block(s, [&](Block& inside) { block(inside); });
}

Expr MoveSlots::load(const Expr& old, const Expr& offset) {
  const auto found = targets_.find(old.node().id);
  if (found == targets_.end()) return Rewrite::load(old, offset);
  return kernel::load(found->second.slot, old.dtype(), offset + found->second.offset);
}

}  // namespace tenon::kernel
