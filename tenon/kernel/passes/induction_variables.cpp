#include "tenon/kernel/passes/induction_variables.h"

#include <algorithm>
#include <set>

#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

constexpr std::size_t most_nodes = 24;  // of what is computed again for each read

// What a slot holds, at every offset that anything reads: `value`, in which `solved`, if there is one, stands for the
// offset less `constant`.
struct Fact {
  std::optional<std::uint32_t> solved;
  std::int64_t constant = 0;
  Expr value;
};
using Facts = std::map<SlotId, Fact>;

std::set<std::uint32_t> variables_of(const Expr& e) {
  std::set<std::uint32_t> vars;
  Seen seen;
  const auto visit = [&](const auto& self, const Expr& at) -> void {
    if (!seen.insert(at.identity())) return;
    if (at.kind() == Expr::Kind::variable) vars.insert(at.node().id);
    for (const auto& operand : at.node().operands)
      if (operand) self(self, Expr(operand));
  };
  visit(visit, e);
  return vars;
}

// Whether an expression of integers is as cheap as reading it: no memory, no division.
bool is_cheap(const Expr& e, Seen& seen) {
  if (!seen.insert(e.identity())) return true;
  if (seen.size() > most_nodes || is_real(e.dtype()) || is_complex(e.dtype()) || e.kind() == Expr::Kind::load)
    return false;
  if (e.kind() == Expr::Kind::unary && e.node().unary != Unary::neg && e.node().unary != Unary::not_) return false;
  if (e.kind() == Expr::Kind::binary) switch (e.node().binary) {
      case Binary::div:
      case Binary::rem:
      case Binary::pow:
      case Binary::atan2:
        return false;
      default:
        break;
    }
  return std::ranges::all_of(e.node().operands,
                             [&](const auto& operand) { return !operand || is_cheap(Expr(operand), seen); });
}
bool is_cheap(const Expr& e) {
  Seen seen;
  return is_cheap(e, seen);
}

// Reads of slots of which a fact is known, as what they hold.
class Known : public FoldIndices {
 public:
  Known(const IndexRanges& ranges, const Facts& facts) : FoldIndices(ranges), facts_(facts) {}

 protected:
  Expr load(const Expr& old, const Expr& offset) override {
    const auto found = facts_.find(old.node().id);
    if (found == facts_.end()) return FoldIndices::load(old, offset);
    const Fact& fact = found->second;
    if (!fact.solved) return fact.value;
    Rewrite at;
    at.vars.emplace(*fact.solved, offset - Expr(fact.constant));
    return (*this)(at(fact.value));  // folded, too; it reads nothing
  }

 private:
  const Facts& facts_;
};

class Recompute {
 public:
  explicit Recompute(Function& function) : f_(function), writers_(SlotUses(function).writers) {}
  void run() {
    block(f_.body);
    while (drop_unread()) {
    }
  }

 private:
  // A carry of a loop that each step adds a constant to.
  struct Counting {
    SlotId slot;
    std::size_t writer;  // statement of the loop's body
    Expr start, by;      // i64
  };

  // `counting`, in the body of a loop over `var`.
  void block(Block& statements, const std::vector<Counting>& counting = {}, const Expr& var = {}) {
    Facts starts;  // of carries, before their loops
    for (std::size_t i = 0; i < statements.size(); ++i) {
      Statement& s = statements[i];
      if (auto* f = std::get_if<For>(&s.held())) {
        loop(*f, starts);
      } else {
        rewrite(s);
        for_each_block(s, [&](Block& b) { inside(b); });
        if (const auto* n = std::get_if<Nest>(&s.held())) learn(*n, starts);
      }
      for (const Counting& c : counting)
        if (c.writer == i) facts_[c.slot] = {{}, 0, after(c, var + Expr(std::int64_t(1)))};
    }
  }
  // What is found out where it is not known whether it runs holds there only.
  void inside(Block& statements) {
    const Facts before = facts_;
    block(statements);
    facts_ = before;
  }

  void rewrite(Statement& s) {
    if (const auto* c = std::get_if<Copy>(&s.held()); c != nullptr && facts_.contains(c->from)) s = computed(*c);
    if (auto* n = std::get_if<Nest>(&s.held())) extent(n->vars, n->sizes);
    if (auto* r = std::get_if<Reduce>(&s.held()))
      extent(r->outer_vars, r->outer_sizes), extent(r->inner_vars, r->inner_sizes);
    Known known(ranges_, facts_);
    for_each_expression(s, [&](Expr& e) { e = known(e); });
  }
  // A copy of what is known, as a nest that computes it.
  Nest computed(const Copy& c) {
    const Expr at = variable(f_.vars);
    const Expr value = load(c.from, f_.slots[c.from].dtype, c.from_offset + at);
    return {{f_.vars++}, {c.elements}, {{c.to, c.to_offset + at, value, {}}}, true, c.where};
  }
  void extent(const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
    for (std::size_t i = 0; i < vars.size(); ++i) ranges_[vars[i]] = below(sizes[i] == Dim(0) ? Dim(1) : sizes[i]);
  }

  // Notes what the stores of a nest say of slots that nothing else writes; of single integers that one other statement
  // writes, in `starts`.
  void learn(const Nest& n, Facts& starts) {
    if (product_of(n.sizes) == 0) return;
    for (const Store& s : n.stores) {
      const int writers = writers_[s.slot];
      if (s.condition || !f_.slots[s.slot].temporary() || !is_cheap(s.value)) continue;
      const auto at = affine(s.offset);
      if (!at || !at->known()) continue;
      Fact fact{{}, at->constant.value(), s.value};
      Rewrite first;  // of axes of one index
      bool good = true;
      for (std::size_t i = 0; i < n.vars.size(); ++i)
        if (n.sizes[i] == 1) first.vars.emplace(n.vars[i], Expr(std::int64_t(0)));
      for (const auto& [var, coefficient] : at->terms) {
        if (first.vars.contains(var)) continue;
        good = good && !fact.solved && coefficient == Dim(1);
        fact.solved = var;
      }
      fact.value = first(s.value);
      for (std::size_t i = 0; i < n.vars.size(); ++i) good = good && (n.sizes[i] == 1 || fact.solved == n.vars[i]);
      if (!good) continue;
      if (writers == 1) facts_.insert_or_assign(s.slot, fact);
      if (writers == 2 && f_.slots[s.slot].elements == 1) starts.insert_or_assign(s.slot, fact);
    }
  }

  // ---- Carries that count.
  // The constant that each step adds to a single integer, if that is all that it does to it.
  std::optional<std::pair<std::size_t, Expr>> added(const Block& body, SlotId slot) const {
    SlotId next = slot;  // where the sum is before it is copied there
    std::size_t writer = body.size();
    for (std::size_t i = body.size(); i-- > 0;) {
      if (const auto* c = std::get_if<Copy>(&body[i].held()); c != nullptr && c->to == slot) {
        if (writers_[c->from] != 1 || !is_constant(c->from_offset, 0)) return {};
        next = c->from, writer = i;
      }
      const auto* n = std::get_if<Nest>(&body[i].held());
      if (n == nullptr || product_of(n->sizes) != 1) continue;
      for (const Store& s : n->stores) {
        if (s.slot != next) continue;
        if (s.condition || s.value.kind() != Expr::Kind::binary || s.value.node().binary != Binary::add) return {};
        for (const int k : {0, 1}) {
          const Expr old = s.value.operand(static_cast<std::size_t>(k)),
                     by = s.value.operand(static_cast<std::size_t>(1 - k));
          if (old.kind() != Expr::Kind::load || old.node().id != slot || by.kind() != Expr::Kind::constant) continue;
          FoldIndices fold(ranges_);
          const Expr wide = fold(convert(DType::i64, by));
          if (wide.kind() == Expr::Kind::constant) return std::pair(next == slot ? i : writer, wide);
        }
        return {};
      }
    }
    return {};
  }
  // The carry after some steps; empty where the most that it comes to is more than it holds.
  Expr after(const Counting& c, const Expr& steps) {
    const DType dtype = f_.slots[c.slot].dtype;
    Expr wide = c.start + c.by * steps;
    const Expr narrow = convert(dtype, wide);
    if (dtype == DType::i64) return wide;
    FoldIndices fold(ranges_);
    return fold(convert(DType::i64, narrow)).kind() == Expr::Kind::convert ? Expr() : narrow;
  }

  void loop(For& f, const Facts& starts) {
    ranges_[f.var] = below(f.count + 1);  // and the count behind the last step
    std::vector<Counting> counting;
    for (const auto& [slot, start] : starts) {
      if (!is_integer(f_.slots[slot].dtype) || f_.slots[slot].dtype == DType::u64 || start.solved) continue;
      const auto by = added(f.body, slot);
      if (!by) continue;
      FoldIndices fold(ranges_);
      const Expr wide = fold(convert(DType::i64, start.value));
      if (wide.kind() == Expr::Kind::convert) continue;
      Counting c{slot, by->first, wide, by->second};
      if (after(c, variable(f.var))) counting.push_back(c);
    }
    ranges_[f.var] = below(f.count == Dim(0) ? Dim(1) : f.count);
    for (const Counting& c : counting) facts_[c.slot] = {{}, 0, after(c, variable(f.var))};
    block(f.body, counting, variable(f.var));
    std::erase_if(facts_, [&](const auto& known) {
      const Fact& fact = known.second;
      // Behind the loop there is neither its variable nor a size that its body finds.
      return (fact.solved != f.var && variables_of(fact.value).contains(f.var)) ||
             changes(f.body, 0, f.body.size(), fact.value);
    });
    for (const Counting& c : counting) {
      facts_[c.slot] = {{}, 0, after(c, size(f.count))};
    }
  }

  // ---- What nothing reads.
  bool drop_unread() {
    std::set<SlotId> read;
    for (const Statement& s : f_.body)
      visit_slots(s, [&](SlotId slot, bool write) {
        if (!write) read.insert(slot);
      });
    return drop(f_.body, read);
  }
  bool drop(Block& statements, const std::set<SlotId>& read) {
    bool dropped = false;
    const auto unread = [&](SlotId slot) { return f_.slots[slot].temporary() && !read.contains(slot); };
    for (Statement& s : statements) {
      if (auto* n = std::get_if<Nest>(&s.held()))
        dropped = std::erase_if(n->stores, [&](const Store& store) { return unread(store.slot); }) > 0 || dropped;
      for_each_block(s, [&](Block& b) { dropped = drop(b, read) || dropped; });
    }
    std::erase_if(statements, [&](const Statement& s) {
      const auto* n = std::get_if<Nest>(&s.held());
      const auto* c = std::get_if<Copy>(&s.held());
      const auto* f = std::get_if<For>(&s.held());
      const bool idle =
          (n != nullptr && n->stores.empty()) || (c != nullptr && unread(c->to)) || (f != nullptr && f->body.empty());
      dropped = dropped || (c != nullptr && idle);
      return idle;
    });
    return dropped;
  }

  Function& f_;
  std::vector<int> writers_;  // of each slot, by all statements
  IndexRanges ranges_;
  Facts facts_;
};

}  // namespace

void recompute_induction_variables(Function& function) { Recompute(function).run(); }

}  // namespace tenon::kernel
