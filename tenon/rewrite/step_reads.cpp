#include "tenon/rewrite/step_reads.h"

#include <algorithm>

#include "tenon/ops/control/loop_roles.h"

namespace tenon {

bool StepReads::is_of_all_steps(const StepsIn& steps) const {
  return steps.stride == 1 && steps.count == *loop_of(program_.eqns()[hoist_.loop]).length * hoist_.steps_a_turn;
}
std::map<Var, std::int64_t> StepReads::lags() const {
  std::map<Var, std::int64_t> most;
  for (const std::size_t e : hoist_.moved)
    for (const Var v : program_.eqns()[e].in)
      if (const std::int64_t lag = hoist_.lag(program_.eqns()[e], v); lag > 0) most[v] = std::max(most[v], lag);
  return most;
}

Along StepReads::outside(const Eqn& eqn, Var v) const {
  const StepsIn& steps = hoist_.steps.at(eqn.out[0]);
  return {v, eqn.op == &gather_op() ? with_axis(steps, batch_of(eqn).indices) : steps};
}
void StepReads::for_each_outside(FunctionRef<void(const Along&)> seen) const {
  for (std::size_t e : hoist_.moved) {
    const Eqn& eqn = program_.eqns()[e];
    for (Var v : eqn.in)
      if (!hoist_.steps.contains(v) && !is_product(*eqn.op)) seen(outside(eqn, v));
  }
  for (const StreamEnd& end : hoist_.ends)
    for (const Along& along : end.of)
      if (!hoist_.steps.contains(along.var)) seen(along);
}
std::vector<Var> StepReads::whole() const {
  std::vector<Var> read;
  for (const std::size_t e : hoist_.moved)
    for (const Var v : program_.eqns()[e].in)
      if (is_product(*program_.eqns()[e].op) && !hoist_.steps.contains(v)) read.push_back(v);
  return read;
}
GatherBatch StepReads::batch_of(const Eqn& gather) const {
  return *gather_batch(gather.params, hoist_.steps.at(gather.in[0]).axis, program_.type(gather.out[0]).rank());
}

std::optional<std::optional<std::int64_t>> StepReads::operand_axis(const Eqn& eqn, std::int64_t axis) const {
  if (eqn.op == &broadcast_op()) {
    const auto dims = broadcast_form(eqn.params).dims;
    const auto at = std::ranges::find(dims, axis);
    return at == dims.end() ? std::optional<std::int64_t>() : std::optional<std::int64_t>(at - dims.begin());
  }
  if (eqn.op == &transpose_op()) return permutation_of(eqn.params)[static_cast<std::size_t>(axis)];
  if (is_elementwise(eqn)) return axis;
  return std::nullopt;
}
bool StepReads::counts_elsewhere(const Along& along) const {
  const Eqn* eqn = maker(along.var);
  const auto counted = eqn == nullptr ? std::nullopt : counted_axis(*eqn);
  return counted && *counted != along.steps.axis;
}
bool StepReads::is_same_at_each(const Along& along) {
  if (const auto known = same_.find(step_key(along)); known != same_.end()) return known->second;
  const Eqn* eqn = maker(along.var);
  if (counts_elsewhere(along)) return true;
  const auto inner = eqn != nullptr ? operand_axis(*eqn, along.steps.axis) : std::nullopt;
  const auto size = [&](Var v, std::int64_t axis) { return program_.type(v).shape[static_cast<std::size_t>(axis)]; };
  const bool same = inner && (!*inner || (size(eqn->in[0], **inner) == size(along.var, along.steps.axis) &&
                                          std::ranges::all_of(eqn->in, [&](Var v) {
                                            return is_same_at_each({v, with_axis(along.steps, **inner)});
                                          })));
  same_.emplace(step_key(along), same);
  return same;
}
std::optional<Along> StepReads::with_all_steps(const Along& along) const {
  const Eqn* eqn = maker(along.var);
  if (eqn == nullptr || eqn->op != &slice_op() || along.steps.chunk) return {};
  const SliceForm form = slice_form(eqn->params);
  const Shape &whole = program_.type(eqn->in[0]).shape, &part = program_.type(along.var).shape;
  const auto axis = static_cast<std::size_t>(along.steps.axis);
  const StepsIn all{along.steps.axis, {}, 0, whole[axis]};
  if (!is_of_all_steps(all) || form.start[axis] != along.steps.first || form.stride[axis] != along.steps.stride ||
      whole.without_axis(axis) != part.without_axis(axis))
    return {};
  return Along{eqn->in[0], all};
}

}  // namespace tenon
