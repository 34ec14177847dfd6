// What the steps of a loop read, once a Hoist has moved eqns into them, and where the steps lie in it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/rewrite/hoist_search.h"

namespace tenon {

class StepReads {
 public:
  StepReads(const Program& program, const Hoist& hoist, const std::vector<std::size_t>& maker)
      : program_(program), hoist_(hoist), maker_(maker) {}

  // A variable that is made of the loop's stacks.
  Along along(Var v) const { return {v, hoist_.steps.at(v)}; }
  bool is_of_all_steps(const StepsIn& steps) const;
  // What moves that reads what earlier steps made, and how many steps back.
  std::map<Var, std::int64_t> lags() const;

  // What lies outside of the loop. Elementwise ops read it where the steps lie as in the result, and so do gathers read
  // their indices.
  Along outside(const Eqn& eqn, Var v) const;
  // What products read beside a step's rows: all of it at each step.
  std::vector<Var> whole() const;
  void for_each_outside(FunctionRef<void(const Along&)> seen) const;
  // The axes of a gather along which the steps lie.
  GatherBatch batch_of(const Eqn& gather) const;

  // The operands of a broadcast, transpose or elementwise op, and where in them the axis of its result lies: nowhere
  // where a broadcast makes it. Nothing for other ops.
  std::optional<std::optional<std::int64_t>> operand_axis(const Eqn& eqn, std::int64_t axis) const;
  // 0 1 2 … along another axis than that of the steps.
  bool counts_elsewhere(const Along& along) const;
  // Whether a value is the same at every step: made by broadcasts over the steps.
  bool is_same_at_each(const Along& along);
  // What has rows for all steps, and those of some of them where a slice took them.
  std::optional<Along> with_all_steps(const Along& along) const;

 private:
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }

  const Program& program_;
  const Hoist& hoist_;
  const std::vector<std::size_t>& maker_;
  std::map<StepKey, bool> same_;  // at every step
};

}  // namespace tenon
