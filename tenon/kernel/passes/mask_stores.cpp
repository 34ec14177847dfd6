#include "tenon/kernel/passes/mask_stores.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Whether two expressions are one, but for sharing. Each pair of nodes is compared once.
class Same {
 public:
  bool operator()(const Expr& x, const Expr& y) {
    if (!x || !y) return !x && !y;
    if (x.identity() == y.identity() || !known_.insert({x.identity(), y.identity()}).second) return true;
    const Expr::Node &a = x.node(), &b = y.node();
    if (a.kind != b.kind || a.dtype != b.dtype || a.unary != b.unary || a.binary != b.binary || a.bits != b.bits ||
        a.id != b.id)
      return false;
    for (std::size_t i = 0; i < a.operands.size(); ++i)
      if (!(*this)(Expr(a.operands[i]), Expr(b.operands[i]))) return false;
    return true;
  }

 private:
  std::set<std::pair<const void*, const void*>> known_;  // compared, or being compared
};

bool varies(const Expr& e, std::uint32_t var, std::set<const void*>& seen) {
  if (!e || !seen.insert(e.identity()).second) return false;
  if (e.kind() == Expr::Kind::variable && e.node().id == var) return true;
  return std::ranges::any_of(e.node().operands,
                             [&](const auto& operand) { return operand && varies(Expr(operand), var, seen); });
}
bool varies(const Expr& e, std::uint32_t var) {
  std::set<const void*> seen;
  return varies(e, var, seen);
}

// A value that is chosen, and when it is.
struct Chosen {
  Expr condition, value;
};

// The value of a store that is not what its place holds, where the store is made.
std::optional<Chosen> chosen(const Expr& value, const Store& store) {
  if (value.kind() != Expr::Kind::select) return {};
  const auto is_there = [&](Expr old) {
    if (old.kind() == Expr::Kind::select && store.condition && Same()(old.operand(0), store.condition))
      old = old.operand(1);
    return old.kind() == Expr::Kind::load && old.node().id == store.slot && Same()(old.operand(0), store.offset);
  };
  if (is_there(value.operand(2))) return Chosen{value.operand(0), value.operand(1)};
  if (is_there(value.operand(1))) return Chosen{unary(Unary::not_, value.operand(0)), value.operand(2)};
  return {};
}

// An offset as multiples of loop variables and all else.
void add_terms(const Expr& e, std::map<std::uint32_t, std::int64_t>& strides, std::vector<Expr>& others) {
  if (const auto a = affine(e); a && a->known()) {
    for (const auto& [var, coefficient] : a->terms) strides[var] += coefficient.value();
    return;
  }
  if (e.kind() == Expr::Kind::binary && e.node().binary == Binary::add) {
    add_terms(e.operand(0), strides, others);
    return add_terms(e.operand(1), strides, others);
  }
  others.push_back(e);
}

// Whether indices of a nest at which the condition may differ store to different places.
bool apart(const Nest& n, const Expr& condition) {
  const auto differs = [&](std::uint32_t var) { return varies(condition, var); };
  if (n.independent || std::ranges::none_of(n.vars, differs)) return true;
  IndexRanges ranges;
  for (std::size_t i = 0; i < n.vars.size(); ++i) ranges[n.vars[i]] = below(n.sizes[i]);
  FoldIndices fold(ranges);
  std::map<std::uint32_t, std::int64_t> strides;
  std::vector<Expr> others;
  add_terms(n.stores[0].offset, strides, others);
  std::int64_t reach = 0;  // of all that is the same where the condition is, or does not say where it differs
  for (const Expr& e : others) {
    const auto range = fold.range(e);
    const Dim length = range ? range->high - range->low : Dim(0);
    if (!range || !length.known()) return false;
    reach += length.value();
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> differ;
  for (std::size_t i = 0; i < n.vars.size(); ++i) {
    const std::int64_t stride = std::abs(strides[n.vars[i]]);
    if (!n.sizes[i].known()) return false;
    if (differs(n.vars[i]))
      differ.emplace_back(stride, n.sizes[i].value());
    else
      reach += stride * (n.sizes[i].value() - 1);
  }
  return lead_apart(std::move(differ), reach);
}

class Idle {
 public:
  explicit Idle(Function& function) : f_(function), uses_(function) {}
  void block(Block& statements) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      Statement& s = statements[i];
      for_each_block(s, [&](Block& inside) { block(inside); });
      auto* n = std::get_if<Nest>(&s.held());
      if (n == nullptr || n->stores.size() != 1 || n->vars.empty()) continue;
      if (f_.slots[n->stores[0].slot].place == Slot::Place::local) continue;  // registers
      if (const auto now = chosen(n->stores[0].value, n->stores[0]); now && is_better(*n, now->condition)) {
        n->stores[0].value = now->value;
        store_when(n->stores[0], now->condition);
      } else {
        stored_before(statements, i, *n);
      }
    }
  }

 private:
  // Vectors are stored faster than lanes one by one.
  static bool is_better(const Nest& n, const Expr& condition) {
    const auto at = affine(n.stores[0].offset);
    return !at || at->coefficient(n.vars.back()) != Dim(1) || !varies(condition, n.vars.back());
  }
  static void store_when(Store& s, const Expr& condition) {
    s.condition = s.condition ? binary(Binary::and_, s.condition, condition) : condition;
  }

  // statements[at] stores what a nest before it has chosen, for it alone.
  void stored_before(Block& statements, std::size_t at, Nest& n) {
    Store& store = n.stores[0];
    if (store.value.kind() != Expr::Kind::load) return;
    const SlotId value = store.value.node().id;
    if (!f_.slots[value].temporary() || uses_.writers[value] != 1 || uses_.references[value] != 2) return;
    for (std::size_t i = at; i-- > 0;) {
      if (!touches(statements[i], value)) continue;
      auto* from = std::get_if<Nest>(&statements[i].held());
      if (from == nullptr || !from->independent || from->sizes != n.sizes) return;
      const auto made = std::ranges::find(from->stores, value, &Store::slot);
      Rewrite renamed;
      for (std::size_t k = 0; k < n.vars.size(); ++k) renamed.vars.emplace(from->vars[k], variable(n.vars[k]));
      if (made->condition || !Same()(renamed(made->offset), store.value.operand(0))) return;
      const auto now = chosen(renamed(made->value), store);
      if (!now || !is_better(n, now->condition) || !apart(n, now->condition)) return;
      for (const Expr& e : {now->condition, store.offset, store.condition})
        if (e && changes(statements, i, at, e)) return;
      for (std::size_t k = i; k < at; ++k)
        if (writes(statements[k], store.slot)) return;
      // The choice by the nest's own vars.
      const bool first = Same()(renamed(made->value.operand(1)), now->value);
      made->value = made->value.operand(first ? 1 : 2);
      return store_when(store, now->condition);
    }
  }

  Function& f_;
  SlotUses uses_;
};

}  // namespace

void mask_stores(Function& function) { Idle(function).block(function.body); }

}  // namespace tenon::kernel
