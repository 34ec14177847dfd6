#include "tenon/compile/pieces.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tenon/kernel/affine.h"

namespace tenon {
namespace {

using kernel::Binary;
using kernel::Block;
using kernel::Expr;
using kernel::Statement;

constexpr std::size_t most_pieces = 16;

struct Range {
  std::int64_t low, high;  // both included
};
using Ranges = std::map<std::uint32_t, Range>;

// Indices stay far below: sums of products of these do not overflow.
bool small(std::int64_t v) { return v > -(std::int64_t(1) << 40) && v < (std::int64_t(1) << 40); }

std::optional<Range> range(const Expr& e, const Ranges& vars) {
  if (e.dtype() != DType::i64) return {};
  if (const auto a = affine(e)) {
    Range r{a->constant, a->constant};
    if (!small(a->constant)) return {};
    for (const auto& [var, coefficient] : a->terms) {
      const auto found = vars.find(var);
      if (found == vars.end() || !small(coefficient)) return {};
      const std::int64_t x = coefficient * found->second.low, y = coefficient * found->second.high;
      r.low += std::min(x, y), r.high += std::max(x, y);
    }
    return r;
  }
  if (e.kind() != Expr::Kind::binary) return {};
  const auto x = range(e.operand(0), vars), y = range(e.operand(1), vars);
  if (!x || !y) return {};
  switch (e.node().binary) {
    case Binary::max:
      return Range{std::max(x->low, y->low), std::max(x->high, y->high)};
    case Binary::min:
      return Range{std::min(x->low, y->low), std::min(x->high, y->high)};
    case Binary::add:
      return Range{x->low + y->low, x->high + y->high};
    case Binary::sub:
      return Range{x->low - y->high, x->high - y->low};
    default:
      return {};
  }
}

std::optional<bool> decided(Binary op, const Range& x, const Range& y) {
  const auto by = [](bool always, bool never) -> std::optional<bool> {
    return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
  };
  switch (op) {
    case Binary::lt:
      return by(x.high < y.low, x.low >= y.high);
    case Binary::le:
      return by(x.high <= y.low, x.low > y.high);
    case Binary::gt:
      return by(x.low > y.high, x.high <= y.low);
    case Binary::ge:
      return by(x.low >= y.high, x.high < y.low);
    case Binary::eq:
      return by(x.low == x.high && y.low == y.high && x.low == y.low, x.high < y.low || x.low > y.high);
    case Binary::ne:
      return by(x.high < y.low || x.low > y.high, x.low == x.high && y.low == y.high && x.low == y.low);
    default:
      return {};
  }
}

Expr truth(bool value) { return kernel::constant(DType::bool_, &value); }
std::optional<bool> truth_of(const Expr& e) {
  if (e.kind() != Expr::Kind::constant || e.dtype() != DType::bool_) return {};
  return e.node().bits[0] != std::byte{0};
}

// Folds what the ranges of the loop variables decide.
class Simplify : public kernel::Rewrite {
 public:
  explicit Simplify(const Ranges& ranges) : ranges_(ranges) {}

 protected:
  Expr finish(const Expr& e) override {
    if (e.kind() == Expr::Kind::select) {
      const auto chosen = truth_of(e.operand(0));
      return chosen ? e.operand(*chosen ? 1 : 2) : e;
    }
    if (e.kind() != Expr::Kind::binary) return e;
    const Expr x = e.operand(0), y = e.operand(1);
    const Binary op = e.node().binary;
    if (x.dtype() == DType::bool_ && (op == Binary::and_ || op == Binary::or_)) {
      for (const auto& [known, other] : {std::pair(x, y), std::pair(y, x)})
        if (const auto value = truth_of(known)) return *value == (op == Binary::and_) ? other : known;
      return e;
    }
    if (x.dtype() != DType::i64) return e;
    const auto of_x = range(x, ranges_), of_y = range(y, ranges_);
    if (!of_x || !of_y) return e;
    if (const auto result = decided(op, *of_x, *of_y)) return truth(*result);
    if (op == Binary::max || op == Binary::min) {
      const Expr &larger = op == Binary::max ? x : y, &smaller = op == Binary::max ? y : x;
      if (of_x->low >= of_y->high) return larger;
      if (of_y->low >= of_x->high) return smaller;
    }
    return e;
  }

 private:
  const Ranges& ranges_;
};

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

class Splitter {
 public:
  Block block(const Block& statements) {
    Block result;
    for (const Statement& s : statements) std::visit([&](const auto& held) { split(held, result); }, s.held());
    return result;
  }

 private:
  void split(const kernel::Nest& n, Block& to) {
    std::map<std::uint32_t, std::set<std::int64_t>> cuts;
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      cuts[n.vars[i]];
      ranges_[n.vars[i]] = {0, n.sizes[i] - 1};
    }
    std::unordered_set<const void*> seen;
    for (const kernel::Store& s : n.stores) find_cuts(s.value, seen, cuts), find_cuts(s.condition, seen, cuts);
    std::size_t pieces = 1;
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      auto& at = cuts[n.vars[i]];
      std::erase_if(at, [&](std::int64_t c) { return c <= 0 || c >= n.sizes[i]; });
      pieces *= at.size() + 1;
    }
    if (pieces > most_pieces || !n.independent)
      for (auto& [var, at] : cuts) at.clear();
    pieces_of(n, 0, cuts, to);
  }

  // For each piece of the vars from `at` on: the nest with these vars moved to the piece.
  void pieces_of(kernel::Nest n, std::size_t at, const std::map<std::uint32_t, std::set<std::int64_t>>& cuts,
                 Block& to) {
    if (at < n.vars.size()) {
      const std::uint32_t var = n.vars[at];
      const std::int64_t size = n.sizes[at];
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
    Simplify simplify(ranges_);
    kernel::Rewrite move;
    bool moved = false;
    for (const std::uint32_t var : n.vars)
      if (const std::int64_t begin = ranges_.at(var).low; begin > 0) {
        move.vars.emplace(var, kernel::variable(var) + Expr(begin));
        moved = true;
      }
    const auto rewritten = [&](const Expr& e) { return !e ? e : moved ? move(simplify(e)) : simplify(e); };
    for (kernel::Store& s : n.stores) {
      s.offset = rewritten(s.offset), s.value = rewritten(s.value), s.condition = rewritten(s.condition);
      if (s.condition && truth_of(s.condition) == true) s.condition = {};
    }
    std::erase_if(n.stores, [](const kernel::Store& s) { return s.condition && truth_of(s.condition) == false; });
    if (!n.stores.empty()) to.push_back(std::move(n));
  }

  void split(kernel::Reduce r, Block& to) {
    for (std::size_t i = 0; i < r.outer_vars.size(); ++i) ranges_[r.outer_vars[i]] = {0, r.outer_sizes[i] - 1};
    for (std::size_t i = 0; i < r.inner_vars.size(); ++i) ranges_[r.inner_vars[i]] = {0, r.inner_sizes[i] - 1};
    Simplify simplify(ranges_);
    r.value = simplify(r.value);
    to.push_back(std::move(r));
  }
  void split(kernel::For f, Block& to) {
    ranges_[f.var] = {0, std::max<std::int64_t>(f.count - 1, 0)};
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
    to.push_back(other);
  }

  Ranges ranges_;
};

}  // namespace

void split_into_pieces(kernel::Function& function) { function.body = Splitter().block(function.body); }

}  // namespace tenon
