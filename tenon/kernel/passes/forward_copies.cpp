#include "tenon/kernel/passes/forward_copies.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/move_slots.h"

namespace tenon::kernel {
namespace {

bool is_loop(const Statement& s) {
  return std::holds_alternative<For>(s.held()) || std::holds_alternative<While>(s.held());
}

class Forwarder {
 public:
  explicit Forwarder(Function& function) : f_(function), references_(SlotUses(function).references) {}
  void run() { block(f_.body); }

 private:
  // Of the statements of one block, by their numbers: how often each touches a slot, and whether it writes it.
  struct Use {
    int references = 0;
    bool writes = false;
  };
  using Uses = std::map<std::size_t, Use>;

  void block(Block& statements) {
    for (Statement& s : statements) for_each_block(s, [&](Block& inside) { block(inside); });
    const auto is_copy = [](const Statement& s) { return std::holds_alternative<Copy>(s.held()); };
    if (std::ranges::none_of(statements, is_copy)) return;
    std::unordered_map<SlotId, Uses> uses;
    for (std::size_t k = 0; k < statements.size(); ++k)
      visit_slots(statements[k], [&](SlotId slot, bool write) {
        Use& use = uses[slot][k];
        ++use.references;
        use.writes = use.writes || write;
      });
    std::vector<bool> gone(statements.size(), false);
    for (std::size_t i = statements.size(); i-- > 0;) gone[i] = forward(statements, i, uses);
    std::size_t left = 0;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (gone[i]) continue;
      if (left < i) statements[left] = std::move(statements[i]);
      ++left;
    }
    statements.resize(left);
  }

  // statements[i], if it copies a whole temporary of this block: whether it is needed no more.
  bool forward(Block& statements, std::size_t i, std::unordered_map<SlotId, Uses>& uses) {
    const auto* copy = std::get_if<Copy>(&statements[i].held());
    if (copy == nullptr) return false;
    const Slot& from = f_.slots[copy->from];
    const auto to_offset = affine(copy->to_offset);
    if (!from.temporary() || from.elements != copy->elements || !to_offset || !is_constant(copy->from_offset, 0) ||
        copy->to == copy->from)
      return false;
    // Nothing else of the Function knows the temporary, and from its first writing on nothing else touches the place.
    Uses& made = uses[copy->from];
    Uses& place = uses[copy->to];
    int references = 0;
    for (const auto& [k, use] : made) references += use.references;
    if (references != references_[copy->from] || made.rbegin()->first != i) return false;
    const auto begin = place.lower_bound(made.begin()->first), end = place.find(i);
    for (auto each = end; each != begin;)
      if (!may_overlap(statements[(--each)->first], *copy, *to_offset)) return false;
    // Its memory is there, and so are the sizes that say where in it, once they are found.
    if (changes(statements, made.begin()->first, i, size(f_.slots[copy->to].elements)) ||
        changes(statements, made.begin()->first, i, copy->to_offset))
      return false;
    // What a loop keeps in registers stays there until it ends.
    const bool leaves_registers = from.place == Slot::Place::local && f_.slots[copy->to].place != Slot::Place::local;
    for (const auto& [k, use] : made)
      if (leaves_registers && is_loop(statements[k])) return false;
    // A statement before the last writer that reads the old value would read the new one.
    const auto written = std::ranges::find_if(made, [](const auto& each) { return each.second.writes; });
    if (written != made.end() && begin != end && written->first < std::prev(end)->first) return false;
    MoveSlots move({{copy->from, {copy->to, to_expr(*to_offset)}}});
    made.erase(i), place.erase(i);
    for (const auto& [k, use] : made) {
      move.statement(statements[k]);
      Use& now = place[k];
      now.references += use.references;
      now.writes = now.writes || use.writes;
    }
    references_[copy->to] += references_[copy->from] - 2;  // the copy itself named both
    references_[copy->from] = 0;
    made.clear();
    return true;
  }

  // A nest may read the place it will write where it does so index by index.
  static bool may_overlap(const Statement& s, const Copy& copy, const Affine& to_offset) {
    const auto* n = std::get_if<Nest>(&s.held());
    if (n == nullptr || !n->independent) return false;
    const bool writes_place = std::ranges::any_of(n->stores, [&](const Store& store) { return store.slot == copy.to; });
    return !writes_place && reads_where_it_writes(*n, copy.to, copy.from, to_offset);
  }

  Function& f_;
  std::vector<int> references_;  // of each slot, by all statements
};

}  // namespace

void forward_copies(Function& function) { Forwarder(function).run(); }

bool reads_where_it_writes(const Nest& n, SlotId read, SlotId written, const Affine& moved) {
  std::optional<Affine> store;
  for (const Store& s : n.stores) {
    if (s.slot != written) continue;
    if (store || s.condition) return false;
    store = affine(s.offset + to_expr(moved));
    if (!store) return false;
  }
  bool good = store.has_value();
  const auto check = [&](const Expr& load) {
    if (load.node().id == read) good = good && affine(load.operand(0)) == store;
  };
  for (const Store& s : n.stores) {
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
  for (Statement& s : statements) for_each_block(s, drop_idle_copies);
}

}  // namespace

void replace_slot(Function& function, SlotId from, SlotId to) {
  MoveSlots({{from, {to, Expr(std::int64_t(0))}}}).block(function.body);
  drop_idle_copies(function.body);
}

}  // namespace tenon::kernel
