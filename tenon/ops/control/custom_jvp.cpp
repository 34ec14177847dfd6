// custom_jvp: a Program with tangents of the user's own.
#include <fmt/format.h>

#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/custom.h"
#include "tenon/ops/families.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(CustomJvpParams, (), (function, sizes, rule, rule_sizes, arguments))

namespace {

extern const OpInfo custom_jvp_info;

CallParams function_of(const CustomJvpParams& p) { return {p.function, p.sizes}; }

// The inputs of the rule that a mask of the operands says: operands, then tangents of the arguments that have any.
Mask rule_mask(const CustomJvpParams& p, const Mask& operands) {
  Mask mask = operands;
  const Mask real = with_tangents(p.function->input_types());
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.arguments); ++i)
    if (real[i]) mask.push_back(operands[i]);
  return mask;
}

// Outputs that depend on operands of the mask by the function, or by the rule.
Mask custom_jvp_reach(const Params& params, const Mask& in, Recurse& recurse) {
  const auto& p = params.as<CustomJvpParams>();
  Mask out = recurse.reach(p.function, in);
  const Mask by_rule = recurse.reach(p.rule, rule_mask(p, in)), real = with_tangents(p.function->output_types());
  std::size_t tangent = out.size();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = out[i] || by_rule[i];
    if (real[i]) out[i] = out[i] || by_rule[tangent++];
  }
  return out;
}

std::vector<Type> custom_jvp_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<CustomJvpParams>();
  const std::vector<Type> out = callee_types("custom_jvp", p.function, p.sizes, in, context);
  if (p.arguments < 0 || static_cast<std::size_t>(p.arguments) > in.size())
    throw VerifyError("custom_jvp: there are fewer operands than arguments.");
  std::vector<Type> takes(in.begin(), in.end()), gives = out;
  const Mask real_in = with_tangents(in), real_out = with_tangents(out);
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.arguments); ++i)
    if (real_in[i]) takes.push_back(in[i]);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (real_out[i]) gives.push_back(out[i]);
  check_callee("custom_jvp", "rule", p.rule, p.rule_sizes, takes, gives);
  return out;
}

JvpResult custom_jvp_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<CustomJvpParams>();
  const auto arguments = static_cast<std::size_t>(p.arguments);
  require_arguments_alone("custom_jvp", arguments, args);
  Arrays operands(args.primals.begin(), args.primals.end());
  const Mask real_in = with_tangents(types_of(args.primals)), real_out = with_tangents(p.function->output_types());
  for (std::size_t i = 0; i < arguments; ++i)
    if (real_in[i]) operands.push_back(tangent_or_zero(args, i));
  const Arrays results = call(p.rule, p.rule_sizes, operands);
  JvpResult result{{results.begin(), results.begin() + static_cast<std::ptrdiff_t>(real_out.size())}, {}};
  std::size_t at = real_out.size();
  for (bool real : real_out) result.tangents.push_back(real ? MaybeArray(results[at++]) : std::nullopt);
  return result;
}

BatchResult custom_jvp_batch(const BatchArgs& args) {
  CustomJvpParams p = args.params.as<CustomJvpParams>();
  const Mask in(args.batched.begin(), args.batched.end());
  const Mask out = custom_jvp_reach(args.params, in, args.recurse), real = with_tangents(p.function->output_types());
  Mask both = out;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (real[i]) both.push_back(out[i]);
  const Mask rule_in = rule_mask(p, in);
  p.function = args.recurse.vmap(p.function, in, out, args.size);
  p.rule = args.recurse.vmap(p.rule, rule_in, both, args.size);
  if (!args.size.known()) {
    p.sizes.push_back(args.size);
    p.rule_sizes.push_back(args.size);
  }
  return {bind_op(custom_jvp_info, make_params(std::move(p)), args.operands), out};
}

const OpInfo custom_jvp_info{
    .name = "custom_jvp",
    .summary = "a Program with tangents by a rule of the user's",
    .params = &describe::params_ops<CustomJvpParams>,
    .type = TypeRule(custom_jvp_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CustomJvpParams>();
      return callee_eval(p.function, p.sizes, in, context);
    }),
    .jvp = JvpRule(custom_jvp_jvp),
    // Where it meets linear operands, a rule has used it on tangents: then it is its function.
    .transpose = TransposeRule([](const TransposeArgs& args) {
      callee_transpose(call_op(), function_of(args.params.as<CustomJvpParams>()), args);
    }),
    .batch = BatchRule(custom_jvp_batch),
    .split = SplitRule{custom_jvp_reach,
                       [](const SplitArgs& args) {
                         const Mask unknown = custom_jvp_reach(args.params, complement(args.known), args.recurse);
                         return callee_split(function_of(args.params.as<CustomJvpParams>()), args, complement(unknown));
                       }},
    .guard = GuardRule([](const GuardArgs& args) {  // as a capture
      CustomJvpParams p = args.params.as<CustomJvpParams>();
      const auto at = static_cast<std::size_t>(p.arguments);
      p.function = args.inside(p.function, at);
      p.rule = args.inside(p.rule, at);
      return GuardResult{make_params(std::move(p)), at};
    }),
    .lower = LowerRule(LowerCall{[](const Params& params) -> LowerCall::Callee {
      const auto& p = params.as<CustomJvpParams>();
      return {p.function, p.sizes};
    }}),
    .alias = Absent{"decided inside"},
    .effect = std::function<Effect(const Params&)>(
        [](const Params& p) { return p.as<CustomJvpParams>().function->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool custom_jvp_installed = (install_op(custom_jvp_info), true);

}  // namespace

void require_arguments_alone(std::string_view op, std::size_t arguments, const JvpArgs& args) {
  for (std::size_t i = arguments; i < args.tangents.size(); ++i)
    if (args.tangents[i])
      throw CaptureError(
          fmt::format("{}: the function captures an array, {}, that is being differentiated; its rule gives "
                      "derivatives in its arguments alone.",
                      op, args.primals[i].type().text()),
          "Pass that array as an argument, or wrap it in stop_gradient().");
}

Arrays bind_custom_jvp(CustomJvpParams params, std::span<const Array> operands) {
  return bind_op(custom_jvp_info, make_params(std::move(params)), operands);
}

}  // namespace tenon
