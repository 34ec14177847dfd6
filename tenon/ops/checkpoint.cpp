// checkpoint: a Program applied to operands of which reverse mode keeps the operands alone, and computes the rest
// again.
#include "tenon/ops/callee.h"
#include "tenon/ops/custom.h"

namespace tenon {
namespace {

extern const OpInfo checkpoint_info;

// What is computed again must not be merged with what was computed before. Two applications of one Program to the same
// operands may share: both are of the second time.
RecomputeScope scope_of(const ProgramRef& program) { return static_cast<RecomputeScope>(program->hash().low) | 1u; }

// The first part gives the known outputs and stores nothing; the second is the whole Program again, without them.
SplitResult checkpoint_split(const SplitArgs& args) {
  const auto& p = args.params.as<CallParams>();
  const Mask unknown_out = args.recurse.reach(p.program, complement(args.known));
  const PartitionRequest request{
      .known_in = args.known, .known_out = complement(unknown_out), .free_in = args.known, .recompute = false};
  SplitResult split{.first = &checkpoint_info, .second = &checkpoint_info};
  for (std::size_t i = 0; i < args.known.size(); ++i) {
    if (args.known[i]) split.first_in.push_back(i);
    split.second_in.push_back({SplitResult::Source::From::operand, i});
  }
  for (std::size_t i = 0; i < unknown_out.size(); ++i)
    (unknown_out[i] ? split.second_out : split.first_out).push_back(i);
  const std::size_t known = split.first_out.size();
  const ProgramRef first = after(args.recurse.partition(p.program, request).first, [&](const Arrays& outputs) {
    return Arrays(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(known));
  });
  const ProgramRef second = after(p.program, [&](const Arrays& outputs) {
    Arrays rest;
    for (std::size_t i : split.second_out) rest.push_back(outputs[i]);
    return rest;
  });
  split.first_params = call_params(first, p.sizes);
  split.second_params = call_params(second, p.sizes);
  split.second_recompute = scope_of(p.program);
  return split;
}

const OpInfo checkpoint_info{
    .name = "checkpoint",
    .summary = "a Program applied to operands, computed again in reverse mode instead of kept",
    .params = &describe::params_ops<CallParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      const auto& p = params.as<CallParams>();
      return callee_types("checkpoint", p.program, p.sizes, in, context);
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CallParams>();
      return callee_eval(p.program, p.sizes, in, context);
    }),
    .jvp = JvpRule([](const JvpArgs& args) { return callee_jvp(checkpoint_info, args.params.as<CallParams>(), args); }),
    .transpose = TransposeRule(
        [](const TransposeArgs& args) { callee_transpose(checkpoint_info, args.params.as<CallParams>(), args); }),
    .batch = BatchRule(
        [](const BatchArgs& args) { return callee_batch(checkpoint_info, args.params.as<CallParams>(), args); }),
    .split = SplitRule{[](const Params& params, const Mask& in, Recurse& recurse) {
                         return recurse.reach(params.as<CallParams>().program, in);
                       },
                       checkpoint_split},
    .guard = GuardRule(callee_guard),
    .lower = LowerRule(LowerCall{callee_of_call}),
    .alias = Absent{"decided inside"},
    .effect =
        std::function<Effect(const Params&)>([](const Params& p) { return p.as<CallParams>().program->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool checkpoint_installed = (install_op(checkpoint_info), true);

}  // namespace

Arrays bind_checkpoint(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands) {
  return bind_op(checkpoint_info, call_params(program, {sizes.begin(), sizes.end()}), operands);
}

}  // namespace tenon
