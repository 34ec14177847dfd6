// call: a Program applied to operands; a function that is traced once and stays a function.
#include "tenon/ops/callee.h"

namespace tenon {
namespace {

extern const OpInfo call_info;

const OpInfo call_info{
    .name = "call",
    .summary = "a Program applied to operands",
    .params = &describe::params_ops<CallParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      const auto& p = params.as<CallParams>();
      return callee_types("call", p.program, p.sizes, in, context);
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CallParams>();
      return callee_eval(p.program, p.sizes, in, context);
    }),
    .jvp = JvpRule([](const JvpArgs& args) { return callee_jvp(call_info, args.params.as<CallParams>(), args); }),
    .transpose = TransposeRule(
        [](const TransposeArgs& args) { callee_transpose(call_info, args.params.as<CallParams>(), args); }),
    .batch =
        BatchRule([](const BatchArgs& args) { return callee_batch(call_info, args.params.as<CallParams>(), args); }),
    .split = SplitRule{[](const Params& params, const Mask& in, Recurse& recurse) {
                         return recurse.reach(params.as<CallParams>().program, in);
                       },
                       [](const SplitArgs& args) {
                         const auto& p = args.params.as<CallParams>();
                         const Mask unknown = args.recurse.reach(p.program, complement(args.known));
                         return callee_split(p, args, complement(unknown));
                       }},
    .guard = GuardRule(callee_guard),
    .lower = LowerRule(LowerCall{callee_of_call}),
    .alias = Absent{"decided inside"},
    .effect =
        std::function<Effect(const Params&)>([](const Params& p) { return p.as<CallParams>().program->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool call_installed = (install_op(call_info), true);

}  // namespace

const OpInfo& call_op() { return call_info; }
Arrays call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands) {
  return bind_op(call_info, call_params(program, {sizes.begin(), sizes.end()}), operands);
}
Arrays call(const ProgramRef& program, std::span<const Array> operands) {
  return call(program, infer_sizes(*program, types_of(operands)), operands);
}

}  // namespace tenon
