// custom_vjp: a Program with a reverse mode of the user's own. Its tangents are an op of their own,
// custom_vjp_tangent, which backward transposes; forward mode turns backward round once more.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tenon/ir/adapt.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/custom.h"
#include "tenon/ops/families.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(CustomVjpParams, (),
                      (function, sizes, forward, forward_sizes, backward, backward_sizes, arguments, states))

// custom_vjp_tangent {…} known…, tangents of arguments…  ->  tangents of the function's outputs
//   backward: (known…, cotangents of the outputs…) -> cotangents of the arguments…; known: captures and residuals
//   pushforward: backward transposed, null where it has no transpose
// The last tangents and outputs are those of states.
struct CustomVjpTangentParams {
  ProgramRef backward;
  std::vector<Dim> backward_sizes;
  ProgramRef pushforward;
  std::vector<Dim> pushforward_sizes;
  std::int64_t known = 0;
  std::int64_t states = 0;
};
BOOST_DESCRIBE_STRUCT(CustomVjpTangentParams, (),
                      (backward, backward_sizes, pushforward, pushforward_sizes, known, states))

namespace {

extern const OpInfo custom_vjp_info, tangent_info;

CallParams function_of(const CustomVjpParams& p) { return {p.function, p.sizes}; }

std::vector<Type> having_tangents(std::span<const Type> types) {
  std::vector<Type> having;
  const Mask real = with_tangents(types);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (real[i]) having.push_back(types[i]);
  return having;
}

void append(Mask& mask, const Mask& more) { mask.insert(mask.end(), more.begin(), more.end()); }

// Those of the mask whose type has a tangent.
Mask where_tangents(const Mask& mask, std::span<const Type> types) {
  Mask result;
  const Mask real = with_tangents(types);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (real[i]) result.push_back(mask[i]);
  return result;
}

// --- custom_vjp ---
// Outputs of forward, residuals included, that depend on operands of the mask; outputs also by the function.
Mask forward_reach(const CustomVjpParams& p, const Mask& in, Recurse& recurse) {
  Mask out = recurse.reach(p.forward, in);
  const Mask own = recurse.reach(p.function, in);
  for (std::size_t i = 0; i < own.size(); ++i) out[i] = out[i] || own[i];
  return out;
}
Mask custom_vjp_reach(const Params& params, const Mask& in, Recurse& recurse) {
  const auto& p = params.as<CustomVjpParams>();
  Mask out = forward_reach(p, in, recurse);
  out.resize(p.function->outputs().size());
  return out;
}

std::vector<Type> custom_vjp_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<CustomVjpParams>();
  const std::vector<Type> out = callee_types("custom_vjp", p.function, p.sizes, in, context);
  if (p.arguments < 0 || static_cast<std::size_t>(p.arguments) > in.size())
    throw VerifyError("custom_vjp: there are fewer operands than arguments.");
  if (p.states < 0 || p.states > p.arguments || static_cast<std::size_t>(p.states) > out.size())
    throw VerifyError("custom_vjp: there are fewer arguments or outputs than states.");
  if (!p.forward || p.forward->outputs().size() < out.size() ||
      p.forward_sizes.size() != p.forward->size_params().size())
    throw VerifyError("custom_vjp: there is no forward, or it gives fewer outputs than the function.");
  const SizeBinding sizes = callee_sizes(*p.forward, p.forward_sizes);
  std::vector<Type> gives = out, takes(in.begin() + p.arguments, in.end());
  for (std::size_t i = out.size(); i < p.forward->outputs().size(); ++i) {
    gives.push_back(substitute(p.forward->type(p.forward->outputs()[i]), sizes));
    takes.push_back(gives.back());
  }
  check_callee("custom_vjp", "forward", p.forward, p.forward_sizes, in, gives);
  for (const Type& t : having_tangents(out)) takes.push_back(t);
  check_callee("custom_vjp", "backward", p.backward, p.backward_sizes, takes,
               having_tangents(in.first(static_cast<std::size_t>(p.arguments))));
  return out;
}

// known…, states…, tangents of the arguments…  ->  tangents of the outputs…, as the same behind which stand the states:
// known…, tangents of the arguments…, states…  ->  tangents of the outputs…, zeros of the states.
ProgramRef with_states_last(const ProgramRef& program, std::size_t known, std::span<const Type> states) {
  std::vector<std::optional<std::size_t>> from;
  for (std::size_t i = 0; i < known; ++i) from.emplace_back(i);
  for (std::size_t i = known + states.size(); i < program->inputs().size(); ++i) from.emplace_back(i);
  for (std::size_t i = 0; i < states.size(); ++i) from.emplace_back(known + i);
  std::vector<std::size_t> outputs(program->outputs().size());
  std::iota(outputs.begin(), outputs.end(), std::size_t(0));
  const ProgramRef ordered = adapt(*program, from, std::vector<Type>(from.size()), outputs);
  return after(ordered, [&](Arrays made) {
    for (const Type& state : states) made.push_back(zeros_of(state));
    return made;
  });
}

// Backward transposed in the cotangents: forward mode, which does nothing to states. Null: backward is not linear in
// them, cannot be transposed, or reads states for cotangents.
CallParams pushforward_of(const CallParams& backward, std::size_t known, std::size_t states,
                          std::span<const Type> known_types, std::span<const Type> tangent_types, Recurse& recurse) {
  const auto last = static_cast<std::ptrdiff_t>(states);
  const std::size_t takes = backward.program->inputs().size(), gives = backward.program->outputs().size();
  TransposeRequest request{.linear_in = Mask(takes, false), .cotangents = Mask(gives, false)};
  std::fill(request.linear_in.begin() + static_cast<std::ptrdiff_t>(known), request.linear_in.end() - last, true);
  std::fill(request.cotangents.begin(), request.cotangents.end() - last, true);
  if (states > 0) {
    Mask of_states(takes, false);
    std::fill(of_states.end() - last, of_states.end(), true);
    const Mask reached = recurse.reach(backward.program, of_states);
    if (std::find(reached.begin(), reached.end() - last, true) != reached.end() - last) return {};
  }
  try {
    ProgramRef program = recurse.transpose(backward.program, request);
    if (states > 0) program = with_states_last(program, known, tangent_types.last(states));
    std::vector<Type> types(known_types.begin(), known_types.end());
    types.insert(types.end(), tangent_types.begin(), tangent_types.end());
    return {program, infer_sizes(*program, types, backward.sizes)};
  } catch (const DifferentiationError&) {
    return {};
  }
}

JvpResult custom_vjp_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<CustomVjpParams>();
  const auto arguments = static_cast<std::size_t>(p.arguments);
  require_arguments_alone("custom_vjp", arguments, args);
  const Arrays forward = call(p.forward, p.forward_sizes, args.primals);
  const std::size_t outs = p.function->outputs().size();
  // What is known to the tangents: captures, then residuals. A residual that is an operand is that operand.
  Arrays operands(args.primals.begin() + p.arguments, args.primals.end());
  for (std::size_t i = outs; i < forward.size(); ++i) {
    const auto input = std::ranges::find(p.forward->inputs(), p.forward->outputs()[i]);
    operands.push_back(input == p.forward->inputs().end()
                           ? forward[i]
                           : args.primals[static_cast<std::size_t>(input - p.forward->inputs().begin())]);
  }
  const std::size_t known = operands.size();
  for (std::size_t i = 0; i < arguments; ++i)
    if (const Type t = args.primals[i].type(); with_tangents({&t, 1})[0]) operands.push_back(tangent_or_zero(args, i));
  const std::vector<Type> types = types_of(operands);
  const CallParams push = pushforward_of({p.backward, p.backward_sizes}, known, static_cast<std::size_t>(p.states),
                                         std::span(types).first(known), std::span(types).subspan(known), args.recurse);
  const Arrays tangents =
      bind_op(tangent_info,
              make_params(CustomVjpTangentParams{p.backward, p.backward_sizes, push.program, push.sizes,
                                                 static_cast<std::int64_t>(known), p.states}),
              operands);
  JvpResult result{{forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(outs)}, {}};
  std::size_t at = 0;
  for (bool real : with_tangents(p.function->output_types()))
    result.tangents.push_back(real ? MaybeArray(tangents[at++]) : std::nullopt);
  return result;
}

// Backward over lanes; the cotangent of what is one for all lanes is the sum of theirs, but of a state.
ProgramRef batch_backward(const ProgramRef& backward, const Mask& in, const Mask& arguments, std::int64_t states,
                          const Dim& size, Recurse& recurse) {
  const Mask reached = recurse.reach(backward, in);
  Mask out = arguments, summed(arguments.size(), false);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!reached[i] || arguments[i]) continue;
    if (i + static_cast<std::size_t>(states) >= out.size())
      throw RuntimeError(
          "custom_vjp: what backward writes to a reference differs from lane to lane of a vmap, and the reference is "
          "one for all lanes.",
          "Pass a reference with an axis of lanes as an argument of the function under vmap.");
    out[i] = summed[i] = true;
  }
  ProgramRef lanes = recurse.vmap(backward, in, out, size);
  if (std::ranges::find(summed, true) == summed.end()) return lanes;
  return after(lanes, [&](Arrays outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (summed[i]) outputs[i] = sum_of_lanes(outputs[i]);
    return outputs;
  });
}

BatchResult custom_vjp_batch(const BatchArgs& args) {
  CustomVjpParams p = args.params.as<CustomVjpParams>();
  const Mask in(args.batched.begin(), args.batched.end());
  const Mask all = forward_reach(p, in, args.recurse);
  const std::vector<Type> in_types = p.function->input_types(), out_types = p.function->output_types();
  const auto outs = static_cast<std::ptrdiff_t>(out_types.size());
  const Mask out(all.begin(), all.begin() + outs);
  Mask backward_in(in.begin() + p.arguments, in.end());
  append(backward_in, Mask(all.begin() + outs, all.end()));
  append(backward_in, where_tangents(out, out_types));
  p.backward = batch_backward(p.backward, backward_in,
                              where_tangents(in, std::span(in_types).first(static_cast<std::size_t>(p.arguments))),
                              p.states, args.size, args.recurse);
  p.function = args.recurse.vmap(p.function, in, out, args.size);
  p.forward = args.recurse.vmap(p.forward, in, all, args.size);
  if (!args.size.known())
    for (auto* sizes : {&p.sizes, &p.forward_sizes, &p.backward_sizes}) sizes->push_back(args.size);
  return {bind_op(custom_vjp_info, make_params(std::move(p)), args.operands), out};
}

const OpInfo custom_vjp_info{
    .name = "custom_vjp",
    .summary = "a Program with a reverse mode of the user's",
    .params = &describe::params_ops<CustomVjpParams>,
    .type = TypeRule(custom_vjp_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CustomVjpParams>();
      return callee_eval(p.function, p.sizes, in, context);
    }),
    .jvp = JvpRule(custom_vjp_jvp),
    // Where it meets linear operands, a rule has used it on tangents: then it is its function.
    .transpose = TransposeRule([](const TransposeArgs& args) {
      callee_transpose(call_op(), function_of(args.params.as<CustomVjpParams>()), args);
    }),
    .batch = BatchRule(custom_vjp_batch),
    .split = SplitRule{custom_vjp_reach,
                       [](const SplitArgs& args) {
                         const Mask unknown = custom_vjp_reach(args.params, complement(args.known), args.recurse);
                         return callee_split(function_of(args.params.as<CustomVjpParams>()), args, complement(unknown));
                       }},
    .guard = GuardRule([](const GuardArgs& args) {  // as a capture
      CustomVjpParams p = args.params.as<CustomVjpParams>();
      const auto at = static_cast<std::size_t>(p.arguments);
      p.function = args.inside(p.function, at);
      p.forward = args.inside(p.forward, at);
      p.backward = args.inside(p.backward, 0);
      return GuardResult{make_params(std::move(p)), at};
    }),
    .lower = LowerRule(LowerCall{[](const Params& params) -> LowerCall::Callee {
      const auto& p = params.as<CustomVjpParams>();
      return {p.function, p.sizes};
    }}),
    .alias = Absent{"decided inside"},
    .effect = std::function<Effect(const Params&)>(
        [](const Params& p) { return p.as<CustomVjpParams>().function->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};

// --- custom_vjp_tangent ---
CallParams pushforward(const CustomVjpTangentParams& p) {
  if (p.pushforward) return {p.pushforward, p.pushforward_sizes};
  throw DifferentiationError(
      "custom_vjp: forward mode is asked of a function that has its own reverse mode, and that cannot be turned round: "
      "backward is not linear in the cotangents, or uses an op that has no transpose.",
      "Use reverse mode (grad, vjp, jacrev), write backward linear in the cotangents, or give the derivative with "
      "custom_jvp.");
}

std::vector<Type> tangent_type(const Params& params, std::span<const Type> in, TypeContext&) {
  const auto& p = params.as<CustomVjpTangentParams>();
  if (!p.backward || p.known < 0 || static_cast<std::size_t>(p.known) > in.size() ||
      p.backward->inputs().size() < static_cast<std::size_t>(p.known) ||
      p.backward_sizes.size() != p.backward->size_params().size())
    throw VerifyError("custom_vjp_tangent: there is no backward, or it takes less than what is known.");
  const auto known = static_cast<std::size_t>(p.known);
  const SizeBinding sizes = callee_sizes(*p.backward, p.backward_sizes);
  std::vector<Type> takes(in.begin(), in.begin() + p.known), out;
  for (std::size_t i = known; i < p.backward->inputs().size(); ++i) {
    out.push_back(substitute(p.backward->type(p.backward->inputs()[i]), sizes));
    takes.push_back(out.back());
  }
  check_callee("custom_vjp_tangent", "backward", p.backward, p.backward_sizes, takes, in.subspan(known));
  if (p.pushforward) check_callee("custom_vjp_tangent", "pushforward", p.pushforward, p.pushforward_sizes, in, out);
  return out;
}

JvpResult tangent_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<CustomVjpTangentParams>();
  const auto known = static_cast<std::size_t>(p.known);
  if (std::ranges::any_of(args.tangents.first(known), [](const MaybeArray& t) { return t.has_value(); }))
    return callee_jvp(call_op(), pushforward(p), args);
  // Linear in what is not known.
  Arrays operands(args.primals.begin(), args.primals.end());
  JvpResult result{bind_op(tangent_info, args.params, operands), {}};
  for (std::size_t i = known; i < operands.size(); ++i) operands[i] = tangent_or_zero(args, i);
  for (const Array& t : bind_op(tangent_info, args.params, operands)) result.tangents.emplace_back(t);
  return result;
}

void tangent_transpose(const TransposeArgs& args) {
  const auto& p = args.params.as<CustomVjpTangentParams>();
  const auto known = static_cast<std::size_t>(p.known);
  Arrays operands;
  const std::size_t outs = args.cotangents.size(), own = outs - static_cast<std::size_t>(p.states);
  if (p.states > 0 && std::ranges::none_of(args.cotangents.first(own), [](const auto& c) { return c.has_value(); })) {
    // Nothing asks for this call's derivative: backward is not run.
    for (std::size_t i = own, k = args.operands.size() - (outs - own); i < outs; ++i, ++k)
      if (args.cotangents[i] && args.operands[k].linear()) args.sink.add(k, *args.cotangents[i]);
    return;
  }
  for (std::size_t i = 0; i < known; ++i) {
    if (args.operands[i].linear())
      throw DifferentiationError("custom_vjp: what backward reads depends on what is differentiated linearly.");
    operands.push_back(*args.operands[i].value);
  }
  const SizeBinding sizes = callee_sizes(*p.backward, p.backward_sizes);
  for (std::size_t i = 0; i < args.cotangents.size(); ++i)
    operands.push_back(args.cotangents[i]
                           ? *args.cotangents[i]
                           : zeros_of(substitute(p.backward->type(p.backward->inputs()[known + i]), sizes)));
  const Arrays cotangents = call(p.backward, p.backward_sizes, operands);
  for (std::size_t i = 0; i < cotangents.size(); ++i)
    if (args.operands[known + i].linear()) args.sink.add(known + i, cotangents[i]);
}

BatchResult tangent_batch(const BatchArgs& args) {
  CustomVjpTangentParams p = args.params.as<CustomVjpTangentParams>();
  // Tangents of several lanes at once are forward mode's, which does nothing to states.
  if (p.states > 0 && p.pushforward) return callee_batch(call_op(), pushforward(p), args);
  const Mask in(args.batched.begin(), args.batched.end());
  const std::size_t outs = p.backward->inputs().size() - static_cast<std::size_t>(p.known);
  Mask backward_in(in.begin(), in.begin() + p.known);
  append(backward_in, Mask(outs, true));
  p.backward =
      batch_backward(p.backward, backward_in, Mask(in.begin() + p.known, in.end()), p.states, args.size, args.recurse);
  if (p.pushforward) p.pushforward = args.recurse.vmap(p.pushforward, in, Mask(outs, true), args.size);
  if (!args.size.known()) {
    p.backward_sizes.push_back(args.size);
    if (p.pushforward) p.pushforward_sizes.push_back(args.size);
  }
  return {bind_op(tangent_info, make_params(std::move(p)), args.operands), Mask(outs, true)};
}

const OpInfo tangent_info{
    .name = "custom_vjp_tangent",
    .summary = "tangents of a custom_vjp: transposed by the user's backward",
    .params = &describe::params_ops<CustomVjpTangentParams>,
    .type = TypeRule(tangent_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const CallParams push = pushforward(params.as<CustomVjpTangentParams>());
      return callee_eval(push.program, push.sizes, in, context);
    }),
    .jvp = JvpRule(tangent_jvp),
    .transpose = TransposeRule(tangent_transpose),
    .batch = BatchRule(tangent_batch),
    .split = Absent{"wholly known or not"},
    .guard = GuardRule([](const GuardArgs& args) {
      CustomVjpTangentParams p = args.params.as<CustomVjpTangentParams>();
      p.backward = args.inside(p.backward, 0);
      if (p.pushforward) p.pushforward = args.inside(p.pushforward, 0);
      ++p.known;
      return GuardResult{make_params(std::move(p)), 0};
    }),
    .lower = LowerRule(LowerCall{[](const Params& params) -> LowerCall::Callee {
      const CallParams push = pushforward(params.as<CustomVjpTangentParams>());
      return {push.program, push.sizes};
    }}),
    .alias = Absent{"decided inside"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool custom_vjp_installed = (install_op(custom_vjp_info), install_op(tangent_info), true);

}  // namespace

Arrays bind_custom_vjp(CustomVjpParams params, std::span<const Array> operands) {
  return bind_op(custom_vjp_info, make_params(std::move(params)), operands);
}

}  // namespace tenon
