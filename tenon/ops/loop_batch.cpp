// vmap of loop: lanes run together; where they end at different steps, those that have ended keep their carries.
#include <algorithm>

#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/guard.h"
#include "tenon/ops/loop_roles.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/shape.h"

namespace tenon {
namespace {

Array lanes_of(const Array& active, const Array& value) {  // bool[B] spread over the axes of a batched value
  return broadcast_in_dim(active, value.shape(), {0});
}
Array choose(const Array& active, const Array& yes, const Array& no) {
  if (yes.type().is_list()) return list_select(active, yes, no);
  return bind1(select_op(), {}, {lanes_of(active, yes), yes, no});
}

// What a loop along batched lists reads beside them: which lanes have an element in one of its lists, then which have
// one in each list that may be zero of some lanes.
struct Marks {
  Arrays xs;                         // of all lists; then of those that are
  std::vector<std::size_t> of_list;  // these operands
};

Marks marks_along(const Arrays& operands, const Mask& batched, std::size_t first_xs, const Dim& size) {
  Arrays lists, same;
  Marks marks;
  for (std::size_t i = first_xs; i < operands.size(); ++i) {
    if (!operands[i].type().is_list()) continue;
    (batched[i] ? lists : same).push_back(operands[i]);
    if (batched[i] && is_inexact(leaf_type(operands[i].type()).dtype)) marks.of_list.push_back(i);
  }
  if (lists.empty()) return {};
  if (lists.size() + same.size() == 1) marks.of_list.clear();
  for (std::size_t i : marks.of_list) marks.xs.push_back(list_active({&operands[i], 1}, 1));
  // A list that is not batched has as many elements in every lane.
  for (const Array& list : same) lists.push_back(one_for_all_lanes(list_active({&list, 1}, 0), size));
  marks.xs.insert(marks.xs.begin(), list_active(lists, 1));
  return marks;
}

// A step's inputs, where lanes that run and have no element in a list read zeros.
void read_zeros(Arrays& inputs, const Marks& marks, std::size_t first_mark) {
  const Array ended = !inputs[first_mark];
  for (std::size_t k = 0; k < marks.of_list.size(); ++k) {
    Array& x = inputs[marks.of_list[k]];
    x = choose(inputs[first_mark + 1 + k] | ended, x, zeros_of(x.type()));
  }
}

// Lanes that have ended keep their carries; `active` says which have not.
BatchResult guarded_batch(const BatchArgs& args, const LoopParams& p, const LoopRoles& roles, const Mask& in,
                          Arrays operands) {
  // A number of lanes that is not known is one size parameter more, the last.
  const auto with_lanes = [&](std::vector<Dim> sizes) {
    if (!args.size.known()) sizes.push_back(args.size);
    return sizes;
  };
  const std::size_t state = roles.consts + roles.carries;
  ProgramRef lane_cond;
  bool batched_cond = false;
  if (p.cond) {
    const Mask cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state));
    batched_cond = args.recurse.reach(p.cond, cond_in)[0];
    lane_cond = args.recurse.vmap(p.cond, cond_in, {batched_cond}, args.size);
  }
  const Marks marks = marks_along(operands, in, state, args.size);
  // Carries that the body updates stay updates.
  const bool ends_apart = batched_cond || !marks.xs.empty();
  const auto from = origins(p.body);
  Mask updated(p.body->outputs().size(), false), body_in = in, shared = in;
  shared.flip();
  for (std::size_t i = 0; i < roles.carries; ++i) updated[i] = ends_apart && from[i] == roles.consts + i;
  if (ends_apart) body_in.insert(body_in.begin(), true);
  const ProgramRef body = args.recurse.vmap(ends_apart ? guard(p.body, updated, shared) : p.body, body_in,
                                            Mask(p.body->outputs().size(), true), args.size);
  operands.insert(operands.end(), marks.xs.begin(), marks.xs.end());
  LoopParams q = p;
  std::vector<Type> types;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Type t = operands[i].type();
    if (i >= state) t = t.is_list() ? *t.element : Type::array(t.dtype, t.shape.without_axis(0));
    types.push_back(t);
  }
  {
    Scope scope;
    Arrays inputs;
    for (const Type& t : types) inputs.push_back(scope.input(t));
    const std::span<const Array> own(inputs.data(), roles.operands());
    MaybeArray active;
    if (!marks.xs.empty()) {
      active = inputs[roles.operands()];
      read_zeros(inputs, marks, roles.operands());
    }
    if (batched_cond) {
      const Array running = inline_program(*lane_cond, with_lanes(p.cond_sizes), own.subspan(0, state))[0];
      active = active ? *active & running : running;
    }
    Arrays body_inputs(own.begin(), own.end());
    if (active) body_inputs.insert(body_inputs.begin(), *active);
    Arrays outputs = inline_program(*body, with_lanes(p.body_sizes), body_inputs);
    for (std::size_t i = 0; i < roles.carries; ++i)
      if (active && !updated[i]) outputs[i] = choose(*active, outputs[i], inputs[roles.consts + i]);
    if (p.lanes)
      outputs.back() = active ? outputs.back() & lanes_of(*active, outputs.back()) : outputs.back();
    else if (active)
      outputs.push_back(*active);
    q.lanes = p.lanes || active.has_value();
    TraceResult traced = scope.finish(outputs, p.body->name() + "_lanes");
    q.body = traced.program;
    q.body_sizes = traced.sizes;
  }
  if (batched_cond) {
    Scope scope;
    Arrays inputs;
    for (std::size_t i = 0; i < state; ++i) inputs.push_back(scope.input(types[i]));
    const Array running = inline_program(*lane_cond, with_lanes(p.cond_sizes), inputs)[0];
    TraceResult traced = scope.finish(Arrays{any(running)}, p.cond->name() + "_any");
    q.cond = traced.program;
    q.cond_sizes = traced.sizes;
  } else if (p.cond) {
    q.cond = lane_cond;
    q.cond_sizes = with_lanes(p.cond_sizes);
  }
  return {bind_op(loop_op(), make_params(q), operands), std::vector<bool>(roles.results(), true)};
}

}  // namespace

BatchResult loop_batch(const BatchArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const LoopRoles roles(p);
  const std::size_t state = roles.consts + roles.carries;
  Mask in = loop_body_mask(p, Mask(args.batched.begin(), args.batched.end()), args.recurse);
  const bool by_list = lanes_end_apart(p, Mask(args.batched.begin(), args.batched.end()));
  const bool by_cond =
      p.cond && args.recurse.reach(p.cond, Mask(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state)))[0];
  if (by_list || by_cond)
    std::fill(in.begin() + static_cast<std::ptrdiff_t>(roles.consts), in.begin() + static_cast<std::ptrdiff_t>(state),
              true);
  Arrays operands;
  for (std::size_t i = 0; i < roles.operands(); ++i) {
    Array x = args.operands[i];
    if (roles.is_carry(i) && in[i] && !args.batched[i]) x = one_for_all_lanes(x, args.size);
    if (roles.is_xs(i) && args.batched[i] && !x.type().is_list()) x = move_axis(x, 0, 1);
    operands.push_back(x);
  }
  BatchResult result;
  if (by_list || by_cond) {
    result = guarded_batch(args, p, roles, in, operands);
  } else {
    Mask out = args.recurse.reach(p.body, in);
    for (std::size_t i = 0; i < roles.carries; ++i) out[i] = in[roles.consts + i];
    LoopParams q = p;
    q.body = args.recurse.vmap(p.body, in, out, args.size);
    if (!args.size.known()) q.body_sizes.push_back(args.size);
    if (p.cond) {
      const Mask cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state));
      q.cond = args.recurse.vmap(p.cond, cond_in, {false}, args.size);
      if (!args.size.known()) q.cond_sizes.push_back(args.size);
    }
    out.resize(roles.results());
    result = {bind_op(loop_op(), make_params(q), operands), out};
  }
  for (std::size_t i = roles.carries; i < roles.results(); ++i)
    if (result.batched[i] && !result.outputs[i].type().is_list())
      result.outputs[i] = move_axis(result.outputs[i], 1, 0);
  return result;
}

}  // namespace tenon
