// vmap of loop: lanes run together; where they end at different steps, those that have ended keep their carries.
#include <algorithm>

#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/loop_roles.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/shape.h"

namespace tenon {
namespace {

Array lanes_of(const Array& active, const Array& value) {  // bool[B] spread over the axes of a batched value
  return broadcast_in_dim(active, value.shape(), {0});
}

// Lanes that have ended keep their carries; `active` says which have not.
BatchResult guarded_batch(const BatchArgs& args, const LoopParams& p, const LoopRoles& roles, const Mask& in,
                          Arrays operands, bool by_list) {
  // A number of lanes that is not known is one size parameter more, the last.
  const auto with_lanes = [&](std::vector<Dim> sizes) {
    if (!args.size.known()) sizes.push_back(args.size);
    return sizes;
  };
  const Mask all_out(p.body->outputs().size(), true);
  const ProgramRef body = args.recurse.vmap(p.body, in, all_out, args.size);
  const std::size_t state = roles.consts + roles.carries;
  ProgramRef lane_cond;
  bool batched_cond = false;
  if (p.cond) {
    const Mask cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state));
    batched_cond = args.recurse.reach(p.cond, cond_in)[0];
    lane_cond = args.recurse.vmap(p.cond, cond_in, {batched_cond}, args.size);
  }
  if (by_list)  // one more xs: which lanes have an element at this step
    for (std::size_t i = state; i < roles.operands(); ++i)
      if (in[i] && operands[i].type().is_list()) {
        operands.push_back(list_active(operands[i]));
        break;
      }
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
    if (inputs.size() > roles.operands()) active = inputs.back();
    if (batched_cond) {
      const Array running = inline_program(*lane_cond, with_lanes(p.cond_sizes), own.subspan(0, state))[0];
      active = active ? *active & running : running;
    }
    Arrays outputs = inline_program(*body, with_lanes(p.body_sizes), own);
    for (std::size_t i = 0; i < roles.carries; ++i)
      if (active)
        outputs[i] = bind1(select_op(), {}, {lanes_of(*active, outputs[i]), outputs[i], inputs[roles.consts + i]});
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
    if (roles.is_carry(i) && in[i] && !args.batched[i]) x = add_batch_axis(x, args.size);
    if (roles.is_xs(i) && args.batched[i] && !x.type().is_list()) x = move_axis(x, 0, 1);
    operands.push_back(x);
  }
  BatchResult result;
  if (by_list || by_cond) {
    result = guarded_batch(args, p, roles, in, operands, by_list);
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
