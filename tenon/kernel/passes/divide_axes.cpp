#include "tenon/kernel/passes/divide_axes.h"

#include <algorithm>
#include <optional>

#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

constexpr std::int64_t shortest_row = 16, longest_row = 1 << 16, fewest_rows = 64;

// Whether an axis of so many elements becomes rows of c: without a rest, or with one that a nest of its own computes.
bool divides_axis(std::int64_t c, std::int64_t size, bool with_rest) {
  return c >= shortest_row && c <= longest_row && size / c >= fewest_rows && (with_rest || size % c == 0);
}

// The least number by which an index of one of the axes is divided, which divides its size; every other part of what is
// divided is a multiple.
class AxisDivisors {
 public:
  // `rests`: which axes may leave a rest.
  AxisDivisors(const std::vector<std::uint32_t>& vars, const Sizes& sizes, FunctionRef<bool(std::size_t)> rests)
      : vars_(vars), sizes_(sizes), rests_(rests) {}
  void look(const Expr& e) {
    if (!e || !seen_.insert(e.identity())) return;
    const bool of_indices = e.kind() == Expr::Kind::binary && e.dtype() == DType::i64;
    if (of_indices && (e.node().binary == Binary::div || e.node().binary == Binary::rem))
      if (const std::optional<std::int64_t> c = number(e.operand(1))) add(e.operand(0), *c);
    for (const auto& operand : e.node().operands)
      if (operand) look(Expr(operand));
  }
  struct Found {
    std::size_t axis;
    std::int64_t by;
  };
  std::optional<Found> found() const { return found_; }

 private:
  static std::optional<std::int64_t> number(const Expr& e) {
    const auto value = affine(e);
    if (!value || !value->terms.empty() || !value->constant.known()) return {};
    return value->constant.value();
  }
  void add(const Expr& x, std::int64_t c) {
    if (c < shortest_row) return;
    const auto index = affine(x);
    if (!index || !index->known() || index->constant.value() < 0 || index->constant.value() % c != 0) return;
    std::optional<std::size_t> axis;
    for (const auto& [var, coefficient] : index->terms) {
      if (coefficient.value() % c == 0) continue;
      if (coefficient.value() != 1 || axis) return;
      for (std::size_t i = 0; i < vars_.size(); ++i)
        if (vars_[i] == var) axis = i;
      if (!axis) return;
    }
    if (!axis || !sizes_[*axis].known() || !divides_axis(c, sizes_[*axis].value(), rests_(*axis))) return;
    if (!found_ || c < found_->by) found_ = Found{*axis, c};
  }

  const std::vector<std::uint32_t>& vars_;
  const Sizes& sizes_;
  FunctionRef<bool(std::size_t)> rests_;
  Seen seen_;
  std::optional<Found> found_;
};

class AxisDivider {
 public:
  explicit AxisDivider(Function& function) : f_(function) {}
  Block block(Block statements) {
    Block made;
    for (Statement& s : statements) statement(std::move(s), made);
    return made;
  }

 private:
  void statement(Statement s, Block& to) {
    std::optional<Statement> rest;
    if (auto* n = std::get_if<Nest>(&s.held()))
      while (!rest && divided(s, n->vars, n->sizes, rest)) continue;
    if (rest) {  // each is looked at again
      statement(std::move(s), to);
      return statement(std::move(*rest), to);
    }
    if (auto* r = std::get_if<Reduce>(&s.held()))
      while (divided(s, r->outer_vars, r->outer_sizes, rest) || divided(s, r->inner_vars, r->inner_sizes, rest))
        continue;
    if (const auto* loop = std::get_if<For>(&s.held())) ranges_[loop->var] = below(max(loop->count, 1));
    for_each_block(s, [&](Block& inside) { inside = block(std::move(inside)); });
    to.push_back(std::move(s));
  }

  // What is behind the last whole row goes to `rest`.
  bool divided(Statement& s, std::vector<std::uint32_t>& vars, Sizes& sizes, std::optional<Statement>& rest) {
    const auto* nest = std::get_if<Nest>(&s.held());
    const auto may_leave_rest = [&](std::size_t axis) {
      return nest != nullptr && (nest->independent || axis == 0);  // else other indices would come before
    };
    AxisDivisors divisors(vars, sizes, may_leave_rest);
    for_each_expression(s, [&](const Expr& e) { divisors.look(e); });
    const auto found = divisors.found();
    if (!found) return false;
    const auto [axis, by] = *found;
    const std::uint32_t row = f_.vars++, column = f_.vars++, var = vars[axis];
    const std::int64_t size = sizes[axis].value(), rows = size / by;
    if (const std::int64_t left = size % by; left != 0) {
      Nest behind = *nest;
      const std::uint32_t last = f_.vars++;
      behind.vars[axis] = last, behind.sizes[axis] = left;
      rest = Statement(std::move(behind));
      put(*rest, var, variable(last) + Expr(rows * by));
    }
    const auto at = static_cast<std::ptrdiff_t>(axis);
    vars[axis] = row, sizes[axis] = rows;
    vars.insert(vars.begin() + at + 1, column), sizes.insert(sizes.begin() + at + 1, Dim(by));
    put(s, var, variable(row) * Expr(by) + variable(column));
    return true;
  }

  void put(Statement& s, std::uint32_t var, const Expr& index) {
    note(s);
    Rewrite move;
    move.vars.emplace(var, index);
    FoldIndices fold(ranges_);
    for_each_expression(s, [&](Expr& e) { e = fold(move(e)); });
  }

  void note(const Statement& s) {
    const auto all = [&](const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
      for (std::size_t i = 0; i < vars.size(); ++i) ranges_[vars[i]] = below(sizes[i]);
    };
    if (const auto* n = std::get_if<Nest>(&s.held())) all(n->vars, n->sizes);
    if (const auto* r = std::get_if<Reduce>(&s.held()))
      all(r->outer_vars, r->outer_sizes), all(r->inner_vars, r->inner_sizes);
  }

  Function& f_;
  IndexRanges ranges_;
};

}  // namespace

void divide_axes(Function& function) { function.body = AxisDivider(function).block(std::move(function.body)); }

}  // namespace tenon::kernel
