#include "tenon/compile/copies.h"

#include <algorithm>
#include <unordered_set>

#include "tenon/kernel/expressions.h"
#include "tenon/kernel/move_slots.h"
#include "tenon/kernel/rows.h"

namespace tenon {
namespace {

using kernel::Affine;
using kernel::Block;
using kernel::Copy;
using kernel::Expr;
using kernel::SlotId;
using kernel::Statement;

bool is_loop(const Statement& s) {
  return std::holds_alternative<kernel::For>(s.held()) || std::holds_alternative<kernel::While>(s.held());
}

class Forwarder {
 public:
  explicit Forwarder(kernel::Function& function) : f_(function), references_(kernel::SlotUses(function).references) {}
  void run() { block(f_.body); }

 private:
  void block(Block& statements) {
    for (Statement& s : statements) kernel::for_each_block(s, [&](Block& inside) { block(inside); });
    for (std::size_t i = statements.size(); i-- > 0;) forward(statements, i);
  }

  // statements[i], if it copies a whole temporary of this block.
  void forward(Block& statements, std::size_t i) {
    const auto* copy = std::get_if<Copy>(&statements[i].held());
    if (copy == nullptr) return;
    const kernel::Slot& from = f_.slots[copy->from];
    const auto to_offset = affine(copy->to_offset);
    if (!from.temporary() || from.elements != copy->elements || !to_offset ||
        !kernel::is_constant(copy->from_offset, 0) || copy->to == copy->from)
      return;
    // Nothing else of the Function knows the temporary, and from its first writing on nothing else touches the place.
    std::size_t first = i;
    int references = 0;
    for (std::size_t k = 0; k < i; ++k)
      visit_slots(statements[k], [&](SlotId slot, bool) {
        if (slot != copy->from) return;
        first = std::min(first, k);
        ++references;
      });
    if (references + 1 != references_[copy->from]) return;
    for (std::size_t k = first; k < i; ++k)
      if (touches(statements[k], copy->to) && !may_overlap(statements[k], *copy, *to_offset)) return;
    // What a loop keeps in registers stays there until it ends.
    const bool leaves_registers =
        from.place == kernel::Slot::Place::local && f_.slots[copy->to].place != kernel::Slot::Place::local;
    for (std::size_t k = first; k < i; ++k)
      if (leaves_registers && is_loop(statements[k]) && touches(statements[k], copy->from)) return;
    // A statement before the last writer that reads the old value would read the new one.
    bool written = false;
    for (std::size_t k = first; k < i; ++k) {
      if (written && touches(statements[k], copy->to)) return;
      visit_slots(statements[k], [&](SlotId slot, bool write) { written = written || (write && slot == copy->from); });
    }
    kernel::MoveSlots move({{copy->from, {copy->to, to_expr(*to_offset)}}});
    for (std::size_t k = first; k < i; ++k) move.statement(statements[k]);
    references_[copy->to] += references_[copy->from] - 2;  // the copy itself named both
    references_[copy->from] = 0;
    statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(i));
  }

  // A nest may read the place it will write where it does so index by index.
  static bool may_overlap(const Statement& s, const Copy& copy, const Affine& to_offset) {
    const auto* n = std::get_if<kernel::Nest>(&s.held());
    if (n == nullptr || !n->independent) return false;
    const bool writes_place =
        std::ranges::any_of(n->stores, [&](const kernel::Store& store) { return store.slot == copy.to; });
    return !writes_place && reads_where_it_writes(*n, copy.to, copy.from, to_offset);
  }

  kernel::Function& f_;
  std::vector<int> references_;  // of each slot, by all statements
};

}  // namespace

void forward_copies(kernel::Function& function) { Forwarder(function).run(); }

bool reads_where_it_writes(const kernel::Nest& n, SlotId read, SlotId written, const Affine& moved) {
  std::optional<Affine> store;
  for (const kernel::Store& s : n.stores) {
    if (s.slot != written) continue;
    if (store || s.condition) return false;
    store = affine(s.offset + to_expr(moved));
    if (!store) return false;
  }
  bool good = store.has_value();
  const auto check = [&](const Expr& load) {
    if (load.node().id == read) good = good && affine(load.operand(0)) == store;
  };
  for (const kernel::Store& s : n.stores) {
    visit_loads(s.offset, check), visit_loads(s.value, check);
    if (s.condition) visit_loads(s.condition, check);
  }
  return good;
}

namespace {

void drop_idle_copies(Block& statements) {
  std::erase_if(statements, [](const Statement& s) {
    const auto* c = std::get_if<Copy>(&s.held());
    if (c == nullptr || c->from != c->to) return false;
    const auto read = affine(c->from_offset);
    return read && read == affine(c->to_offset);
  });
  for (Statement& s : statements) kernel::for_each_block(s, drop_idle_copies);
}

}  // namespace

void replace_slot(kernel::Function& function, SlotId from, SlotId to) {
  kernel::MoveSlots({{from, {to, Expr(std::int64_t(0))}}}).block(function.body);
  drop_idle_copies(function.body);
}

}  // namespace tenon
