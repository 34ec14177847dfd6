// call, call_unit, call_inlined: a Program applied to operands; a function that is traced once and stays a function.
// They differ in how they become code, and what transformations make of a call is a call of its kind.
#include "tenon/ops/control/callee.h"

namespace tenon {
namespace {

OpInfo call_info(std::string_view name, std::string_view summary, Placement placement) {
  return {
      .name = name,
      .summary = summary,
      .params = &describe::params_ops<CallParams>,
      .type = TypeRule([name](const Params& params, std::span<const Type> in, TypeContext& context) {
        const auto& p = params.as<CallParams>();
        return callee_types(name, p.program, p.sizes, in, context);
      }),
      .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
        const auto& p = params.as<CallParams>();
        return callee_eval(p.program, p.sizes, in, context);
      }),
      .jvp = JvpRule([placement](const JvpArgs& args) {
        return callee_jvp(call_op(placement), args.params.as<CallParams>(), args);
      }),
      .transpose = TransposeRule([placement](const TransposeArgs& args) {
        callee_transpose(call_op(placement), args.params.as<CallParams>(), args);
      }),
      .batch = BatchRule([placement](const BatchArgs& args) {
        return callee_batch(call_op(placement), args.params.as<CallParams>(), args);
      }),
      .split = SplitRule{[](const Params& params, const Mask& in, Recurse& recurse) {
                           return recurse.reach(params.as<CallParams>().program, in);
                         },
                         [placement](const SplitArgs& args) {
                           const auto& p = args.params.as<CallParams>();
                           const Mask unknown = args.recurse.reach(p.program, complement(args.known));
                           return callee_split(p, args, complement(unknown), placement);
                         }},
      .guard = GuardRule(callee_guard),
      .lower = LowerRule(LowerCall{callee_of_call, placement}),
      .alias = Absent{"decided inside"},
      .effect =
          std::function<Effect(const Params&)>([](const Params& p) { return p.as<CallParams>().program->effect(); }),
      .sample = Absent{"tested through the Programs that tests build"},
  };
}

const OpInfo priced = call_info("call", "a Program applied to operands", Placement::priced);
const OpInfo unit = call_info("call_unit", "the same, compiled by itself", Placement::unit);
const OpInfo inlined = call_info("call_inlined", "the same, as a part of the caller's code", Placement::inlined);
const bool call_installed = (install_op(priced), install_op(unit), install_op(inlined), true);

}  // namespace

const OpInfo& call_op(Placement placement) {
  switch (placement) {
    case Placement::unit:
      return unit;
    case Placement::inlined:
      return inlined;
    case Placement::priced:
      break;
  }
  return priced;
}
Arrays call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands,
            Placement placement) {
  return bind_op(call_op(placement), call_params(program, {sizes.begin(), sizes.end()}), operands);
}
Arrays call(const ProgramRef& program, std::span<const Array> operands) {
  return call(program, infer_sizes(*program, types_of(operands)), operands);
}

}  // namespace tenon
