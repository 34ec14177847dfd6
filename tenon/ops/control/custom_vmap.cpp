// custom_vmap: a Program with a batch rule of the user's own, for the batch and the operands that it was traced for.
#include <algorithm>

#include "tenon/ir/replay.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/custom.h"
#include "tenon/ops/families.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(CustomVmapParams, (), (function, sizes, rule, rule_sizes, lanes, in, out))

namespace {

extern const OpInfo custom_vmap_info;

CallParams function_of(const CustomVmapParams& p) { return {p.function, p.sizes}; }

std::vector<Type> of_lanes(std::vector<Type> types, const Mask& mask, const Dim& lanes) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (mask[i]) types[i] = Type::array(types[i].dtype, types[i].shape.with_axis(0, lanes));
  return types;
}

std::vector<Type> custom_vmap_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<CustomVmapParams>();
  const std::vector<Type> out = callee_types("custom_vmap", p.function, p.sizes, in, context);
  if (p.in.size() != in.size() || p.out.size() != out.size())
    throw VerifyError("custom_vmap: the masks are not as long as the operands and the outputs.");
  for (const std::span<const Type> types : {in, std::span<const Type>(out)})
    if (!std::ranges::all_of(types, &Type::is_array))
      throw VerifyError("custom_vmap: a list cannot be batched by a rule.");
  check_callee("custom_vmap", "rule", p.rule, p.rule_sizes, of_lanes({in.begin(), in.end()}, p.in, p.lanes),
               of_lanes(out, p.out, p.lanes));
  return out;
}

// Outputs that depend on operands of the mask by the function, or by the rule.
Mask custom_vmap_reach(const Params& params, const Mask& in, Recurse& recurse) {
  const auto& p = params.as<CustomVmapParams>();
  Mask out = recurse.reach(p.function, in);
  const Mask by_rule = recurse.of_lanes() ? p.out : recurse.reach(p.rule, in);
  const bool any = std::ranges::find(in, true) != in.end();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] || (any && by_rule[i]);
  return out;
}

// The derivatives of function and rule: tangents are batched where what they belong to is.
JvpResult custom_vmap_jvp(const JvpArgs& args) {
  CustomVmapParams p = args.params.as<CustomVmapParams>();
  Arrays operands(args.primals.begin(), args.primals.end());
  Mask active_in;
  for (const MaybeArray& tangent : args.tangents) {
    active_in.push_back(tangent.has_value());
    if (tangent) operands.push_back(*tangent);
  }
  const Mask active_out = with_tangents(p.function->output_types());
  const std::size_t outs = p.out.size();
  for (std::size_t i = 0; i < active_in.size(); ++i)
    if (active_in[i]) p.in.push_back(p.in[i]);
  for (std::size_t i = 0; i < outs; ++i)
    if (active_out[i]) p.out.push_back(p.out[i]);
  p.function = args.recurse.jvp(p.function, active_in, active_out);
  p.rule = args.recurse.jvp(p.rule, active_in, active_out);
  const Arrays results = bind_op(custom_vmap_info, make_params(std::move(p)), operands);
  JvpResult result{{results.begin(), results.begin() + static_cast<std::ptrdiff_t>(outs)}, {}};
  std::size_t at = outs;
  for (const bool real : active_out) result.tangents.push_back(real ? MaybeArray(results[at++]) : std::nullopt);
  return result;
}

// By the rule, which takes what is one for all lanes too where it was traced for a batch of it. Other batches, such as
// those of the columns of a Jacobian, are the function's.
BatchResult custom_vmap_batch(const BatchArgs& args) {
  const auto& p = args.params.as<CustomVmapParams>();
  bool fits = args.size == p.lanes;
  for (std::size_t i = 0; i < p.in.size(); ++i) fits = fits && (p.in[i] || !args.batched[i]);
  if (!fits) return callee_batch(call_op(), function_of(p), args);
  Arrays operands(args.operands.begin(), args.operands.end());
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (p.in[i] && !args.batched[i]) operands[i] = one_for_all_lanes(operands[i], args.size);
  return {call(p.rule, p.rule_sizes, operands), p.out};
}

// A rule whose first input says whether it runs, where that differs from lane to lane: it runs where one does.
ProgramRef where_any_runs(const ProgramRef& rule, const Dim& lanes, std::vector<Dim>& sizes) {
  Scope scope;
  const std::vector<Dim> own = scope.size_params_of(*rule);
  const Dim size = lanes.known() ? lanes : scope.size_param();
  if (!lanes.known()) sizes.push_back(lanes);
  Arrays inputs{any(scope.input(Type::array(DType::bool_, {size})))};
  const Replay types(*rule, own);
  for (std::size_t i = 1; i < rule->inputs().size(); ++i) inputs.push_back(scope.input(types.type(rule->inputs()[i])));
  return scope.finish(inline_program(*rule, own, inputs), rule->name()).program;
}

const OpInfo custom_vmap_info{
    .name = "custom_vmap",
    .summary = "a Program with a batch rule of the user's",
    .params = &describe::params_ops<CustomVmapParams>,
    .type = TypeRule(custom_vmap_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CustomVmapParams>();
      return callee_eval(p.function, p.sizes, in, context);
    }),
    .jvp = JvpRule(custom_vmap_jvp),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      callee_transpose(call_op(), function_of(args.params.as<CustomVmapParams>()), args);
    }),
    .batch = BatchRule(custom_vmap_batch),
    .split = SplitRule{custom_vmap_reach,
                       [](const SplitArgs& args) {
                         const Mask unknown = custom_vmap_reach(args.params, complement(args.known), args.recurse);
                         return callee_split(function_of(args.params.as<CustomVmapParams>()), args,
                                             complement(unknown));
                       }},
    .guard = GuardRule([](const GuardArgs& args) {
      CustomVmapParams p = args.params.as<CustomVmapParams>();
      p.function = args.inside(p.function, 0);
      p.rule = where_any_runs(args.inside(p.rule, 0), p.lanes, p.rule_sizes);
      p.in.insert(p.in.begin(), true);
      return GuardResult{make_params(std::move(p)), 0};
    }),
    .lower = LowerRule(LowerCall{[](const Params& params) -> LowerCall::Callee {
      const auto& p = params.as<CustomVmapParams>();
      return {p.function, p.sizes};
    }}),
    .alias = Absent{"decided inside"},
    .effect = std::function<Effect(const Params&)>(
        [](const Params& p) { return p.as<CustomVmapParams>().function->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool custom_vmap_installed = (install_op(custom_vmap_info), true);

}  // namespace

Arrays bind_custom_vmap(CustomVmapParams params, std::span<const Array> operands) {
  return bind_op(custom_vmap_info, make_params(std::move(params)), operands);
}

}  // namespace tenon
