#include "tenon/kernel/passes/split_nests.h"

#include <algorithm>

#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

using Cuts = std::map<std::uint32_t, std::vector<Dim>>;

// Where x op y changes along the one loop variable it depends on.
void add_cuts(Binary op, const Expr& x, const Expr& y, Cuts& cuts) {
  const auto difference = affine(x - y);
  if (!difference || difference->terms.size() != 1) return;
  const auto& [var, coefficient] = *difference->terms.begin();
  const auto found = cuts.find(var);
  if (found == cuts.end() || !coefficient.known()) return;
  // The first index at which coefficient·i + constant passes from below 0 to 0, or from 0 to above.
  const std::int64_t c = coefficient.value();
  const Dim &k = difference->constant, minus_k = 0 - k;
  if (!k.known() && std::abs(c) != 1) return;
  const Dim to_zero = c > 0 ? 0 - floor_div(k, c) : floor_div(k, -c) + 1;
  const Dim past_zero = c > 0 ? floor_div(minus_k, c) + 1 : 0 - floor_div(minus_k, -c);
  const auto cut = [&](const Dim& at) {
    if (std::ranges::find(found->second, at) == found->second.end()) found->second.push_back(at);
  };
  if (op == Binary::ge || op == Binary::lt || op == Binary::eq || op == Binary::ne) cut(to_zero);
  if (op == Binary::gt || op == Binary::le || op == Binary::eq || op == Binary::ne) cut(past_zero);
}

// The cuts within an axis, ascending. Of those whose order depends on sizes that vary, none.
std::vector<Dim> within(std::vector<Dim> cuts, const Dim& size) {
  std::erase_if(cuts, [&](const Dim& c) { return at_least(0 - c, 0) || at_least(c - size, 0); });
  std::vector<Dim> ordered;
  for (const Dim& c : cuts) {
    if (!at_least(c, 0) || !at_least(size - c, 0)) return {};
    auto at = ordered.begin();
    while (at != ordered.end() && at_least(c - *at, 0)) ++at;
    if (at != ordered.end() && !at_least(*at - c, 0)) return {};
    ordered.insert(at, c);
  }
  return ordered;
}

void find_cuts(const Expr& e, Seen& seen, Cuts& cuts) {
  if (!e || !seen.insert(e.identity())) return;
  if (e.kind() == Expr::Kind::binary && e.operand(0).dtype() == DType::i64 && e.dtype() == DType::bool_)
    add_cuts(e.node().binary, e.operand(0), e.operand(1), cuts);
  for (const auto& operand : e.node().operands)
    if (operand) find_cuts(Expr(operand), seen, cuts);
}

// Whether every index of a nest that runs in order stores to a place of its own, and reads of that slot no other.
bool stores_apart(const Nest& n) {
  if (n.stores.size() != 1) return false;
  const Store& s = n.stores[0];
  const auto at = affine(s.offset);
  if (!at) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;
  for (std::size_t i = 0; i < n.vars.size(); ++i)
    if (!n.sizes[i].known() || !at->coefficient(n.vars[i]).known())
      return false;
    else if (n.sizes[i].value() > 1)
      strides.emplace_back(std::abs(at->coefficient(n.vars[i]).value()), n.sizes[i].value());
  bool apart = lead_apart(std::move(strides));
  const auto check = [&](const Expr& load) {
    if (load.node().id == s.slot) apart = apart && affine(load.operand(0)) == at;
  };
  visit_loads(s.value, check), visit_loads(s.offset, check);
  if (s.condition) visit_loads(s.condition, check);
  return apart;
}

class Splitter {
 public:
  Block block(const Block& statements) {
    Block result;
    for (const Statement& s : statements) std::visit([&](const auto& held) { split(held, result); }, s.held());
    return result;
  }

 private:
  void split(Nest n, Block& to) {
    Cuts cuts;
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      cuts[n.vars[i]];
      ranges_[n.vars[i]] = below(n.sizes[i]);
    }
    fold(n.stores);
    squeeze(n);
    n.independent = n.independent || stores_apart(n);
    Seen seen;
    for (const Store& s : n.stores) find_cuts(s.value, seen, cuts), find_cuts(s.condition, seen, cuts);
    std::size_t pieces = 1;
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      auto& at = cuts[n.vars[i]];
      at = within(std::move(at), n.sizes[i]);
      pieces *= at.size() + 1;
    }
    if (pieces == 1 || pieces > most_pieces || !n.independent) {
      if (!n.stores.empty()) to.push_back(std::move(n));
    } else {
      pieces_of(n, 0, cuts, to);
    }
  }

  void fold(std::vector<Store>& stores) const {
    FoldIndices simplify(ranges_);
    for (Store& s : stores) {
      s.offset = simplify(s.offset), s.value = simplify(s.value), s.condition = simplify(s.condition);
      if (s.condition && truth_of(s.condition) == true) s.condition = {};
    }
    std::erase_if(stores, [](const Store& s) { return s.condition && truth_of(s.condition) == false; });
  }

  // Axes of one index go: rows are the axes that are there.
  static void squeeze(Nest& n) {
    Rewrite first;
    for (std::size_t i = n.vars.size(); i-- > 0;) {
      if (n.sizes[i] != Dim(1)) continue;
      first.vars.emplace(n.vars[i], Expr(std::int64_t(0)));
      n.vars.erase(n.vars.begin() + static_cast<std::ptrdiff_t>(i));
      n.sizes.erase(n.sizes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (first.vars.empty()) return;
    for (Store& s : n.stores) s.offset = first(s.offset), s.value = first(s.value), s.condition = first(s.condition);
  }

  // For each piece of the vars from `at` on: the nest with these vars moved to the piece.
  void pieces_of(Nest n, std::size_t at, const Cuts& cuts, Block& to) {
    if (at < n.vars.size()) {
      const std::uint32_t var = n.vars[at];
      std::vector<Dim> bounds = cuts.at(var);
      bounds.push_back(n.sizes[at]);
      Dim begin = 0;
      for (const Dim& end : bounds) {
        n.sizes[at] = end - begin;
        ranges_[var] = {begin, end - 1};
        pieces_of(n, at + 1, cuts, to);
        begin = end;
      }
      return;
    }
    // Ranges are of the vars as they were: fold first, then move the vars to begin at 0.
    fold(n.stores);
    Rewrite move;
    for (const std::uint32_t var : n.vars)
      if (const Dim begin = ranges_.at(var).low; begin != Dim(0)) move.vars.emplace(var, variable(var) + size(begin));
    if (!move.vars.empty())
      for (Store& s : n.stores) s.offset = move(s.offset), s.value = move(s.value), s.condition = move(s.condition);
    if (!n.stores.empty()) to.push_back(std::move(n));
  }

  void split(Reduce r, Block& to) {
    for (std::size_t i = 0; i < r.outer_vars.size(); ++i) ranges_[r.outer_vars[i]] = below(r.outer_sizes[i]);
    for (std::size_t i = 0; i < r.inner_vars.size(); ++i) ranges_[r.inner_vars[i]] = below(r.inner_sizes[i]);
    split_other(std::move(r), to);
  }
  void split(For f, Block& to) {
    ranges_[f.var] = below(f.count == Dim(0) ? Dim(1) : f.count);
    f.body = block(f.body);
    to.push_back(std::move(f));
  }
  void split(While w, Block& to) {
    w.before = block(w.before);
    w.body = block(w.body);
    to.push_back(std::move(w));
  }
  void split(Switch s, Block& to) {
    for (Block& branch : s.branches) branch = block(branch);
    to.push_back(std::move(s));
  }
  template <class Other>
  void split(const Other& other, Block& to) {
    split_other(other, to);
  }
  void split_other(Statement s, Block& to) {
    FoldIndices simplify(ranges_);
    for_each_expression(s, [&](Expr& e) { e = simplify(e); });
    to.push_back(std::move(s));
  }

  IndexRanges ranges_;
};

}  // namespace

void split_nests(Function& function) { function.body = Splitter().block(function.body); }

}  // namespace tenon::kernel
