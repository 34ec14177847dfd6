// The numbers of rows that a loop's steps read and write, as expressions of the number of the step.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ir/unify.h"
#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/ops/control/loop_roles.h"

namespace tenon {

// The variable of these expressions: which element of xs and stacks a step reads and writes.
inline constexpr std::uint32_t step_element = 0;

// A Program with the sizes that its variables stand for. Of the body of a loop: its carries are the inputs from
// `first_carry` on.
struct LoopLevel {
  const Program& program;
  std::vector<const Eqn*> makers;
  SizeBinding sizes;
  std::size_t first_carry = 0, carries = 0;
  Type type(Var v) const { return substitute(program.type(v), sizes); }
  // Whether one is a carry, and the other what it becomes.
  bool is_carried(Var before, Var after) const {
    const auto inputs = program.inputs().subspan(first_carry, carries);
    const auto at = std::ranges::find(inputs, before);
    return at != inputs.end() && program.outputs()[static_cast<std::size_t>(at - inputs.begin())] == after;
  }
  Params params(const Eqn& eqn) const {
    return sizes.empty() ? eqn.params : eqn.params.map_dims([&](const Dim& d) { return substitute(d, sizes); });
  }
};

// Numbers in the body of a loop as expressions of the element of its step.
class StepNumbers {
 public:
  StepNumbers(const LoopLevel& around, const Eqn& loop, const LoopParams& p);

  const LoopLevel& body() const { return body_; }
  const Dim& steps() const { return steps_; }

  // Which carry an input of the body is.
  std::optional<std::size_t> carry(Var input) const {
    const std::size_t at = input_of_[input];
    return roles_.is_carry(at) ? std::optional(at - roles_.consts) : std::nullopt;
  }
  // The single element of an array of the body.
  std::optional<kernel::Affine> number(Var v) { return folded(body_, v); }
  // Whether all elements of an array of the body are true, or false.
  std::optional<bool> truth(Var v);

 private:
  // A carry that grows by the same number in each step: by induction, if it does so in the first.
  void count(std::size_t k, const kernel::Expr& step);
  void assume(Var carry, const kernel::Expr& e) {
    counted_[carry] = e;
    known_.clear();  // what was made of it
  }

  std::optional<kernel::Affine> folded(const LoopLevel& level, Var v);

  void begin() {
    ops_ = 0;
    depth_ = 0;
  }
  kernel::Expr unknown(DType dtype) { return kernel::variable(++unknowns_, dtype); }

  kernel::Expr value(const LoopLevel& level, Var v, std::span<const kernel::Expr> index);
  kernel::Expr made(const LoopLevel& level, Var v, const Type& type, std::span<const kernel::Expr> index);
  kernel::Expr computed(const LoopLevel& level, const Eqn& eqn, const Type& type, std::span<const kernel::Expr> index);
  // Numbers that go up or down by as much each.
  kernel::Expr of_table(const Eqn& eqn, const Type& type, std::span<const kernel::Expr> index);

  const LoopLevel& around_;
  const Eqn& loop_;
  const LoopRoles roles_;
  const Dim steps_;
  const LoopLevel body_;
  const kernel::IndexRanges ranges_;
  std::vector<std::size_t> input_of_;
  std::map<Var, kernel::Expr> counted_;  // carries of the body
  std::map<std::pair<const LoopLevel*, Var>, kernel::Expr> known_;
  std::uint32_t unknowns_ = step_element;
  int ops_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace tenon
