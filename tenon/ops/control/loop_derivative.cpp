// The derivatives of loop: forward with pairs of carries, xs and ys; backward as the loop over cotangents.
#include "tenon/ir/adapt.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/families.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

using Order = std::vector<std::optional<std::size_t>>;

}  // namespace

// --- jvp: carries, xs and ys in pairs ---
JvpResult loop_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const LoopRoles roles(p);
  Mask active(roles.operands());
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = args.tangents[i].has_value();
  // Only what has a tangent is followed, so an integer carry that a float reaches stays inactive.
  Mask reached;
  while (true) {
    reached = args.recurse.reach(p.body, active);
    bool grown = false;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      reached[i] = reached[i] && is_differentiable(leaf_type(p.body->type(p.body->outputs()[i])).dtype);
      if (i < roles.carries && reached[i] && !active[roles.consts + i]) active[roles.consts + i] = grown = true;
    }
    if (!grown) break;
  }
  for (std::size_t i = 0; i < roles.carries; ++i) reached[i] = active[roles.consts + i];
  const ProgramRef body = args.recurse.jvp(p.body, active, reached);

  // The body's tangents follow all its primals; the loop wants them role by role.
  const std::size_t n = roles.operands(), outs = p.body->outputs().size();
  std::vector<std::size_t> tangent_in(n), tangent_out(outs);
  std::size_t next = n;
  for (std::size_t i = 0; i < n; ++i)
    if (active[i]) tangent_in[i] = next++;
  next = outs;
  for (std::size_t i = 0; i < outs; ++i)
    if (reached[i]) tangent_out[i] = next++;
  Order inputs;
  Order cond_inputs;
  std::vector<Type> cond_types;
  Arrays operands;
  const auto role = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      inputs.emplace_back(i);
      operands.push_back(args.primals[i]);
      if (!roles.is_xs(i)) cond_inputs.emplace_back(i), cond_types.push_back(p.body->type(p.body->inputs()[i]));
    }
    for (std::size_t i = from; i < to; ++i)
      if (active[i]) {
        inputs.emplace_back(tangent_in[i]);
        operands.push_back(tangent_or_zero(args, i));
        if (!roles.is_xs(i))
          cond_inputs.emplace_back(std::nullopt), cond_types.push_back(p.body->type(p.body->inputs()[i]));
      }
    return operands.size();
  };
  LoopParams q = p;
  q.consts = static_cast<std::int64_t>(role(0, roles.consts));
  q.carries = static_cast<std::int64_t>(role(roles.consts, roles.consts + roles.carries)) - q.consts;
  role(roles.consts + roles.carries, n);
  std::vector<std::size_t> outputs;
  const auto result_role = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) outputs.push_back(i);
    for (std::size_t i = from; i < to; ++i)
      if (reached[i]) outputs.push_back(tangent_out[i]);
  };
  result_role(0, roles.carries);
  result_role(roles.carries, roles.results());
  if (p.lanes) outputs.push_back(outs - 1);
  q.body = adapt(*body, inputs, {}, outputs);
  if (p.cond) {
    if (!p.cond->size_params().empty() && q.cond_sizes.size() != p.cond->size_params().size())
      throw VerifyError("loop: sizes of the condition.");
    for (std::size_t i = 0; i < cond_types.size(); ++i) cond_types[i] = operands[i].type();
    q.cond = adapt(*p.cond, cond_inputs, cond_types, std::vector<std::size_t>{0}, q.cond_sizes);
  }
  const Arrays results = bind_op(loop_op(), make_params(q), operands);
  JvpResult jvp{Arrays(roles.results()), std::vector<MaybeArray>(roles.results())};
  std::size_t at = 0;
  const auto take_role = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) jvp.outputs[i] = results[at++];
    for (std::size_t i = from; i < to; ++i)
      if (reached[i]) jvp.tangents[i] = results[at++];
  };
  take_role(0, roles.carries);
  take_role(roles.carries, roles.results());
  return jvp;
}

// --- transpose: the loop backwards over cotangents; those of consts are summed in carries ---
void loop_transpose(const TransposeArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const LoopRoles roles(p);
  if (p.cond)
    throw DifferentiationError("loop: a loop whose condition depends on what is differentiated cannot be transposed.");
  const std::size_t n = roles.operands();
  TransposeRequest request{.linear_in = Mask(n), .cotangents = Mask(p.body->outputs().size()), .accumulate = Mask(n)};
  std::vector<std::size_t> plain_consts, plain_xs, linear_consts, linear_xs, present;
  for (std::size_t i = 0; i < n; ++i) {
    const bool linear = roles.is_carry(i) || args.operands[i].linear();
    request.linear_in[i] = linear;
    if (roles.is_const(i)) (linear ? linear_consts : plain_consts).push_back(i);
    if (roles.is_xs(i)) (linear ? linear_xs : plain_xs).push_back(i);
    request.accumulate[i] = roles.is_const(i) && linear;
  }
  for (std::size_t i = 0; i < roles.results(); ++i) {
    const bool there = i < roles.carries || args.cotangents[i].has_value();
    request.cotangents[i] = there;
    if (there && i >= roles.carries) present.push_back(i);
  }
  const ProgramRef body = args.recurse.transpose(p.body, request);
  // The body's inputs: plain consts, plain xs, cotangents of carries, of ys that are there, sums of linear consts.
  const std::size_t xs_at = plain_consts.size(), carry_at = xs_at + plain_xs.size(), ys_at = carry_at + roles.carries,
                    sums_at = ys_at + present.size();
  Order order;
  Arrays operands;
  for (std::size_t i = 0; i < plain_consts.size(); ++i)
    order.emplace_back(i), operands.push_back(*args.operands[plain_consts[i]].value);
  for (std::size_t i = 0; i < roles.carries; ++i) {
    order.emplace_back(carry_at + i);
    operands.push_back(args.cotangents[i] ? *args.cotangents[i] : zeros_of(args.operands[roles.consts + i].type));
  }
  for (std::size_t i = 0; i < linear_consts.size(); ++i)
    order.emplace_back(sums_at + i), operands.push_back(zeros_of(args.operands[linear_consts[i]].type));
  for (std::size_t i = 0; i < plain_xs.size(); ++i)
    order.emplace_back(xs_at + i), operands.push_back(*args.operands[plain_xs[i]].value);
  for (std::size_t i = 0; i < present.size(); ++i)
    order.emplace_back(ys_at + i), operands.push_back(*args.cotangents[present[i]]);
  // Its outputs: linear consts, carries, linear xs. The loop wants carries first.
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < roles.carries; ++i) outputs.push_back(linear_consts.size() + i);
  for (std::size_t i = 0; i < linear_consts.size(); ++i) outputs.push_back(i);
  for (std::size_t i = 0; i < linear_xs.size(); ++i) outputs.push_back(linear_consts.size() + roles.carries + i);
  LoopParams q = p;
  q.body = adapt(*body, order, {}, outputs);
  q.reverse = !p.reverse;
  q.checkpoints = std::nullopt;
  q.consts = static_cast<std::int64_t>(plain_consts.size());
  q.carries = static_cast<std::int64_t>(roles.carries + linear_consts.size());
  const Arrays results = bind_op(loop_op(), make_params(q), operands);
  for (std::size_t i = 0; i < roles.carries; ++i)
    if (args.operands[roles.consts + i].linear()) args.sink.add(roles.consts + i, results[i]);
  for (std::size_t i = 0; i < linear_consts.size(); ++i) args.sink.add(linear_consts[i], results[roles.carries + i]);
  for (std::size_t i = 0; i < linear_xs.size(); ++i)
    args.sink.add(linear_xs[i], results[roles.carries + linear_consts.size() + i]);
}

}  // namespace tenon
