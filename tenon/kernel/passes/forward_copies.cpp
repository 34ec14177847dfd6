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

constexpr std::ptrdiff_t most_apart = 32;  // statements that touch other parts of an array, looked at for each copy

// Whether an offset moves with a nest's variables as the elements of an array of the nest's sizes lie: then where it
// begins.
std::optional<Affine> begin_of_whole(const Nest& n, const Expr& offset) {
  std::optional<Affine> a = affine(offset);
  Dim stride = 1;
  for (std::size_t k = n.vars.size(); a && k-- > 0;) {
    if (n.sizes[k] != Dim(1) && a->coefficient(n.vars[k]) != stride) return {};
    a->terms.erase(n.vars[k]);
    stride = stride * n.sizes[k];
  }
  return a;
}
bool moves_elements(const Nest& n) {
  return n.independent && n.stores.size() == 1 && !n.stores[0].condition &&
         n.stores[0].value.kind() == Expr::Kind::load;
}
// A nest that does nothing but copy elements that lie behind each other, as many as are known, as a copy.
std::optional<Copy> as_copy(const Nest& n, std::span<const Slot> slots) {
  if (!moves_elements(n)) return {};
  const Store& store = n.stores[0];
  const SlotId from = store.value.node().id;
  const auto to = begin_of_whole(n, store.offset), at = begin_of_whole(n, store.value.operand(0));
  if (!to || !at || slots[from].dtype != slots[store.slot].dtype || slots[store.slot].place == Slot::Place::size)
    return {};
  Dim elements = 1;
  for (const Dim& size : n.sizes) elements = elements * size;
  if (!elements.known() || !to->known() || !at->known()) return {};
  return Copy{
      .to = store.slot, .from = from, .to_offset = to_expr(*to), .from_offset = to_expr(*at), .elements = elements};
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
    const auto may_copy = [](const Statement& s) {
      const auto* nest = std::get_if<Nest>(&s.held());
      return nest == nullptr ? std::holds_alternative<Copy>(s.held()) : moves_elements(*nest);
    };
    if (std::ranges::none_of(statements, may_copy)) return;
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

  std::optional<Copy> copy_of(const Statement& s) const {
    if (const auto* copy = std::get_if<Copy>(&s.held())) return *copy;
    const auto* nest = std::get_if<Nest>(&s.held());
    return nest == nullptr ? std::nullopt : as_copy(*nest, f_.slots);
  }

  // statements[i], if it copies a whole temporary of this block: whether it is needed no more.
  bool forward(Block& statements, std::size_t i, std::unordered_map<SlotId, Uses>& uses) {
    const auto copy = copy_of(statements[i]);
    if (!copy) return false;
    const Slot& from = f_.slots[copy->from];
    const auto to_offset = affine(copy->to_offset);
    const auto from_offset = affine(copy->from_offset);
    if (!from.temporary() || !to_offset || !from_offset || copy->to == copy->from) return false;
    const bool whole = from.elements == copy->elements && *from_offset == Affine{};
    // Nothing else of the Function knows the temporary, and from its first writing on nothing else touches the place,
    // but for a nest that reads the old value where it writes the new one: a statement behind a writer would read that.
    Uses& made = uses[copy->from];
    Uses& place = uses[copy->to];
    if (references(made) != references_[copy->from] || made.rbegin()->first != i) return false;
    const auto written = std::ranges::find_if(made, [](const auto& each) { return each.second.writes; });
    std::ptrdiff_t apart = 0;
    for (auto each = place.lower_bound(made.begin()->first); each->first != i; ++each) {
      const Statement& other = statements[each->first];
      const bool elsewhere = is_apart(other, *copy, *to_offset),
                 behind = written != made.end() && written->first < each->first;
      if (elsewhere ? ++apart > most_apart : behind || !may_overlap(other, *copy, *to_offset)) return false;
    }
    if (!whole && !has_room(statements, i, *copy, *to_offset, *from_offset, made, place)) return false;
    // Its memory is there, and so are the sizes that say where in it, once they are found.
    if (changes(statements, made.begin()->first, i, size(f_.slots[copy->to].elements)) ||
        changes(statements, made.begin()->first, i, copy->to_offset))
      return false;
    // What a loop keeps in registers stays there until it ends.
    const bool leaves_registers = from.place == Slot::Place::local && f_.slots[copy->to].place != Slot::Place::local;
    for (const auto& [k, use] : made)
      if (leaves_registers && is_loop(statements[k])) return false;
    Affine moved_by = *to_offset;
    moved_by.constant = moved_by.constant - from_offset->constant;
    MoveSlots move({{copy->from, {copy->to, to_expr(moved_by)}}});
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

  static int references(const Uses& uses) {
    int all = 0;
    for (const auto& [k, use] : uses) all += use.references;
    return all;
  }
  // Of a copy of a part of the temporary, such as the stack of a loop without the carry before its first step: whether
  // the array has room for the rest around the place, and nothing is there before the temporary is needed no more.
  bool has_room(const Block& statements, std::size_t i, const Copy& copy, const Affine& to, const Affine& from,
                const Uses& made, const Uses& place) const {
    const Dim &elements = f_.slots[copy.from].elements, &room = f_.slots[copy.to].elements;
    if (&statements != &f_.body || made.size() < 2 || std::ssize(place) > most_apart || !to.terms.empty() ||
        !from.terms.empty() || references(place) != references_[copy.to])
      return false;
    for (const Dim& d : {to.constant, from.constant, elements, room})
      if (!d.known()) return false;
    const std::int64_t begin = to.constant.value() - from.constant.value();
    if (begin < 0 || begin + elements.value() > room.value() || from.constant.value() < 0) return false;
    Copy all = copy;
    all.elements = elements;
    const Affine first{begin, {}};
    const std::size_t last = std::prev(made.end(), 2)->first;  // before the copy itself
    return std::ranges::all_of(place, [&](const auto& each) {
      const auto& [k, use] = each;
      return k >= i || is_apart(statements[k], all, first) || (k > last && is_apart(statements[k], copy, to));
    });
  }
  // Whether a statement touches other elements of the array than those of the place.
  static bool is_apart(const Statement& s, const Copy& copy, const Affine& place) {
    if (const auto* other = std::get_if<Copy>(&s.held()))
      return (other->to != copy.to || is_apart(other->to_offset, {}, {}, other->elements, copy, place)) &&
             (other->from != copy.to || is_apart(other->from_offset, {}, {}, other->elements, copy, place));
    const auto* n = std::get_if<Nest>(&s.held());
    if (n == nullptr) return false;
    bool apart = true;
    const auto check = [&](const Expr& load) {
      if (load.node().id == copy.to) apart = apart && is_apart(load.operand(0), n->vars, n->sizes, 1, copy, place);
    };
    for (const Store& store : n->stores) {
      apart = apart && (store.slot != copy.to || is_apart(store.offset, n->vars, n->sizes, 1, copy, place));
      visit_loads(store.offset, check), visit_loads(store.value, check);
      if (store.condition) visit_loads(store.condition, check);
    }
    return apart;
  }
  static bool is_apart(const Expr& offset, std::span<const std::uint32_t> vars, std::span<const Dim> sizes,
                       const Dim& elements, const Copy& copy, const Affine& place) {
    auto from = affine(offset);
    if (!from || !elements.known() || !copy.elements.known()) return false;
    from->constant = from->constant - place.constant;
    for (const auto& [var, coefficient] : place.terms) from->add(var, 0 - coefficient);
    if (!from->constant.known()) return false;
    std::int64_t low = from->constant.value(), high = low + elements.value() - 1;
    for (std::size_t k = 0; k < vars.size(); ++k) {
      const Dim by = from->coefficient(vars[k]);
      from->terms.erase(vars[k]);
      if (!by.known() || !sizes[k].known()) return false;
      const std::int64_t reach = by.value() * (sizes[k].value() - 1);
      (reach < 0 ? low : high) += reach;
    }
    return from->terms.empty() && (high < 0 || low >= copy.elements.value());
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
