#include "tenon/compile/pieces.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tenon/kernel/expressions.h"
#include "tenon/kernel/index_ranges.h"
#include "tenon/kernel/rows.h"

namespace tenon {
namespace {

using kernel::Binary;
using kernel::Block;
using kernel::Expr;
using kernel::FoldIndices;
using kernel::IndexRanges;
using kernel::Statement;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// Where x op y changes along the one loop variable it depends on.
void add_cuts(Binary op, const Expr& x, const Expr& y, std::map<std::uint32_t, std::set<std::int64_t>>& cuts) {
  const auto difference = affine(x - y);
  if (!difference || difference->terms.size() != 1) return;
  const auto [var, coefficient] = *difference->terms.begin();
  const auto found = cuts.find(var);
  if (found == cuts.end()) return;
  // The first index at which coefficient·i + constant passes from below 0 to 0, or from 0 to above.
  const std::int64_t c = coefficient, k = difference->constant;
  const std::int64_t to_zero = c > 0 ? -floor_div(k, c) : floor_div(k, -c) + 1;
  const std::int64_t past_zero = c > 0 ? floor_div(-k, c) + 1 : -floor_div(-k, -c);
  if (op == Binary::ge || op == Binary::lt) found->second.insert(to_zero);
  if (op == Binary::gt || op == Binary::le) found->second.insert(past_zero);
  if (op == Binary::eq || op == Binary::ne) found->second.insert({to_zero, past_zero});
}

void find_cuts(const Expr& e, std::unordered_set<const void*>& seen,
               std::map<std::uint32_t, std::set<std::int64_t>>& cuts) {
  if (!e || !seen.insert(e.identity()).second) return;
  if (e.kind() == Expr::Kind::binary && e.operand(0).dtype() == DType::i64 && e.dtype() == DType::bool_)
    add_cuts(e.node().binary, e.operand(0), e.operand(1), cuts);
  for (const auto& operand : e.node().operands)
    if (operand) find_cuts(Expr(operand), seen, cuts);
}

// Whether every index of a nest that runs in order stores to a place of its own, and reads of that slot no other.
bool stores_apart(const kernel::Nest& n) {
  if (n.stores.size() != 1) return false;
  const kernel::Store& s = n.stores[0];
  const auto at = affine(s.offset);
  if (!at) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;
  for (std::size_t i = 0; i < n.vars.size(); ++i)
    if (!n.sizes[i].known())
      return false;
    else if (n.sizes[i].value() > 1)
      strides.emplace_back(std::abs(at->coefficient(n.vars[i])), n.sizes[i].value());
  bool apart = kernel::lead_apart(std::move(strides));
  const auto check = [&](const Expr& load) {
    if (load.node().id == s.slot) apart = apart && affine(load.operand(0)) == at;
  };
  kernel::visit_loads(s.value, check), kernel::visit_loads(s.offset, check);
  if (s.condition) kernel::visit_loads(s.condition, check);
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
  void split(kernel::Nest n, Block& to) {
    std::map<std::uint32_t, std::set<std::int64_t>> cuts;
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      cuts[n.vars[i]];
      set_range(ranges_, n.vars[i], n.sizes[i]);
    }
    fold(n.stores);
    squeeze(n);
    n.independent = n.independent || stores_apart(n);
    std::unordered_set<const void*> seen;
    for (const kernel::Store& s : n.stores) find_cuts(s.value, seen, cuts), find_cuts(s.condition, seen, cuts);
    std::size_t pieces = 1;
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      auto& at = cuts[n.vars[i]];
      if (!n.sizes[i].known()) at.clear();
      std::erase_if(at, [&](std::int64_t c) { return c <= 0 || c >= n.sizes[i].value(); });
      pieces *= at.size() + 1;
    }
    if (pieces == 1 || pieces > most_pieces || !n.independent) {
      if (!n.stores.empty()) to.push_back(std::move(n));
    } else {
      pieces_of(n, 0, cuts, to);
    }
  }

  void fold(std::vector<kernel::Store>& stores) const {
    FoldIndices simplify(ranges_);
    for (kernel::Store& s : stores) {
      s.offset = simplify(s.offset), s.value = simplify(s.value), s.condition = simplify(s.condition);
      if (s.condition && truth_of(s.condition) == true) s.condition = {};
    }
    std::erase_if(stores, [](const kernel::Store& s) { return s.condition && truth_of(s.condition) == false; });
  }

  // Axes of one index go: rows are the axes that are there.
  static void squeeze(kernel::Nest& n) {
    kernel::Rewrite first;
    for (std::size_t i = n.vars.size(); i-- > 0;) {
      if (n.sizes[i] != Dim(1)) continue;
      first.vars.emplace(n.vars[i], Expr(std::int64_t(0)));
      n.vars.erase(n.vars.begin() + static_cast<std::ptrdiff_t>(i));
      n.sizes.erase(n.sizes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (first.vars.empty()) return;
    for (kernel::Store& s : n.stores)
      s.offset = first(s.offset), s.value = first(s.value), s.condition = first(s.condition);
  }

  // For each piece of the vars from `at` on: the nest with these vars moved to the piece.
  void pieces_of(kernel::Nest n, std::size_t at, const std::map<std::uint32_t, std::set<std::int64_t>>& cuts,
                 Block& to) {
    if (at < n.vars.size()) {
      const std::uint32_t var = n.vars[at];
      if (!n.sizes[at].known()) return pieces_of(std::move(n), at + 1, cuts, to);
      const std::int64_t size = n.sizes[at].value();
      std::set<std::int64_t> bounds = cuts.at(var);
      bounds.insert(size);
      std::int64_t begin = 0;
      for (const std::int64_t end : bounds) {
        n.sizes[at] = end - begin;
        ranges_[var] = {begin, end - 1};
        pieces_of(n, at + 1, cuts, to);
        begin = end;
      }
      return;
    }
    // Ranges are of the vars as they were: fold first, then move the vars to begin at 0.
    fold(n.stores);
    kernel::Rewrite move;
    for (const std::uint32_t var : n.vars)
      if (const auto range = ranges_.find(var); range != ranges_.end() && range->second.low > 0)
        move.vars.emplace(var, kernel::variable(var) + Expr(range->second.low));
    if (!move.vars.empty())
      for (kernel::Store& s : n.stores)
        s.offset = move(s.offset), s.value = move(s.value), s.condition = move(s.condition);
    if (!n.stores.empty()) to.push_back(std::move(n));
  }

  void split(kernel::Reduce r, Block& to) {
    for (std::size_t i = 0; i < r.outer_vars.size(); ++i) set_range(ranges_, r.outer_vars[i], r.outer_sizes[i]);
    for (std::size_t i = 0; i < r.inner_vars.size(); ++i) set_range(ranges_, r.inner_vars[i], r.inner_sizes[i]);
    split_other(std::move(r), to);
  }
  void split(kernel::For f, Block& to) {
    set_range(ranges_, f.var, f.count == Dim(0) ? Dim(1) : f.count);
    f.body = block(f.body);
    to.push_back(std::move(f));
  }
  void split(kernel::While w, Block& to) {
    w.before = block(w.before);
    w.body = block(w.body);
    to.push_back(std::move(w));
  }
  void split(kernel::Switch s, Block& to) {
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

void split_into_pieces(kernel::Function& function) { function.body = Splitter().block(function.body); }

}  // namespace tenon
