#include "tenon/kernel/move_slots.h"

namespace tenon::kernel {

void MoveSlots::statement(Statement& s) {
  std::visit([&](auto& held) { rewrite(held); }, s.held());
}

Expr MoveSlots::load(const Expr& old, const Expr& offset) {
  const auto found = targets_.find(old.node().id);
  if (found == targets_.end()) return Rewrite::load(old, offset);
  return kernel::load(found->second.slot, old.dtype(), offset + found->second.offset);
}

void MoveSlots::place(SlotId& slot, Expr& offset) {
  to(offset);
  const auto found = targets_.find(slot);
  if (found == targets_.end()) return;
  slot = found->second.slot;
  offset = offset + found->second.offset;
}

void MoveSlots::rewrite(Store& s) { place(s.slot, s.offset), to(s.value), to(s.condition); }
void MoveSlots::rewrite(Nest& n) {
  for (Store& s : n.stores) rewrite(s);
}
void MoveSlots::rewrite(Reduce& r) {
  place(r.slot, r.offset), to(r.initial), to(r.value);
  for (Store& s : r.stores) rewrite(s);
}
void MoveSlots::rewrite(Copy& c) { place(c.to, c.to_offset), place(c.from, c.from_offset); }
void MoveSlots::rewrite(Product& p) { place(p.a, p.a_offset), place(p.b, p.b_offset), place(p.c, p.c_offset); }
void MoveSlots::rewrite(Call& c) {
  for (Call::Argument& a : c.arguments)
    if (a.address)
      place(*a.address, a.value);
    else
      to(a.value);
  if (c.result) place(*c.result, c.result_offset);
}
void MoveSlots::rewrite(While& w) { block(w.before), to(w.condition), block(w.body); }
void MoveSlots::rewrite(Switch& s) {
  to(s.index);
  for (Block& branch : s.branches) block(branch);
}

}  // namespace tenon::kernel
