#include "tenon/rewrite/steps_in.h"

#include <algorithm>

#include "tenon/ops/control/loop_roles.h"
#include "tenon/rewrite/streams.h"

namespace tenon {

StepKey step_key(const Along& along) {
  const auto number = [](const Dim& d) { return d.try_value().value_or(-1); };
  return {along.var, along.steps.axis, number(along.steps.first), number(along.steps.count), along.steps.stride};
}
StepsIn with_axis(StepsIn steps, std::int64_t axis) {
  steps.axis = axis;
  return steps;
}

Dim elements_before(const Shape& shape, std::size_t axis) {
  Dim count = 1;
  for (std::size_t i = 0; i < axis; ++i) count = count * shape[i];
  return count;
}

// How so many parts, which lie behind each other where so many elements lie before the axis, lie in a shape.
std::optional<StepsIn> parts_along(const Shape& shape, const Dim& before, const StepsIn& steps) {
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (elements_before(shape, i) != before) continue;
    StepsIn parts = with_axis(steps, static_cast<std::int64_t>(i));
    parts.chunk.reset();
    if (shape[i] == steps.count) return parts;
    if (!shape[i].known() || !steps.count.known() || steps.count.value() < 2 || shape[i].value() == 0 ||
        shape[i].value() % steps.count.value() != 0)
      continue;
    parts.chunk = Dim(shape[i].value() / steps.count.value());
    return parts;
  }
  return std::nullopt;
}

Shape step_shape(const Shape& whole, const StepsIn& steps) {
  const Shape rest = whole.without_axis(at(steps.axis));
  return steps.chunk ? rest.with_axis(at(steps.axis), *steps.chunk) : rest;
}

std::vector<std::int64_t> without_axis(const std::vector<std::int64_t>& axes, std::int64_t gone) {
  std::vector<std::int64_t> rest;
  for (const std::int64_t a : axes)
    if (a != gone) rest.push_back(a - (a > gone));
  return rest;
}
std::vector<std::int64_t> step_axes(const StepsIn& steps, const std::vector<std::int64_t>& axes) {
  return steps.chunk ? axes : without_axis(axes, steps.axis);
}

std::vector<Var> stacks_of(const Program& program, const Eqn& eqn) {
  std::vector<Var> stacks;
  if (eqn.op != &loop_op()) return stacks;
  const LoopParams& p = loop_of(eqn);
  if (p.cond || !p.length || p.lanes) return stacks;
  for (auto i = static_cast<std::size_t>(p.carries); i < eqn.out.size(); ++i)
    if (program.type(eqn.out[i]).is_array()) stacks.push_back(eqn.out[i]);
  return stacks;
}

std::optional<ReductionForm> reduction_of(const Eqn& eqn, const Program& program) {
  const auto* reduction = rule_of<LowerReduction>(*eqn.op);
  if (reduction == nullptr || eqn.in.size() != 1) return std::nullopt;
  const Type in[]{program.type(eqn.in[0])};
  return reduction->rule(eqn.params, in);
}

bool repeats_along(const Program& program, const Eqn* eqn, std::span<const std::int64_t> axes) {
  if (eqn == nullptr || eqn->op != &broadcast_op()) return false;
  const std::vector<std::int64_t> dims = broadcast_form(eqn->params).dims;
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (std::ranges::count(axes, dims[k]) > 0 && program.type(eqn->in[0]).shape[k] != Dim(1)) return false;
  return true;
}

std::optional<std::int64_t> axis_in_result(const Program& program, const Eqn& eqn, Var operand, std::int64_t axis) {
  if (is_elementwise(eqn)) return axis;
  if (eqn.op == &broadcast_op()) {
    const BroadcastForm form = broadcast_form(eqn.params);
    const std::int64_t to = form.dims[at(axis)];
    const bool same = program.type(eqn.out[0]).shape[at(to)] == program.type(operand).shape[at(axis)];
    return same ? std::optional(to) : std::nullopt;
  }
  if (eqn.op == &transpose_op()) return place_of(permutation_of(eqn.params), axis);
  const auto form = reduction_of(eqn, program);
  if (!form || std::ranges::binary_search(form->axes, axis)) return {};
  return axis_left(form->axes, axis);
}

}  // namespace tenon
