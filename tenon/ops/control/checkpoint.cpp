// checkpoint: a Program applied to operands of which reverse mode keeps the operands alone, and computes the rest
// again.
#include <algorithm>

#include "tenon/ir/decided_sizes.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/custom.h"

namespace tenon {
namespace {

extern const OpInfo checkpoint_info;

// What is computed again must not be merged with what was computed before. Two applications of one Program to the same
// operands may share: both are of the second time.
RecomputeScope scope_of(const ProgramRef& program) { return static_cast<RecomputeScope>(program->hash().low) | 1u; }

// Known variables that are marked to be kept, in order.
std::vector<Var> kept_variables(const Program& program, const Mask& known_in) {
  std::vector<bool> known(program.vars(), false);
  for (std::size_t i = 0; i < known_in.size(); ++i) known[program.inputs()[i]] = known_in[i];
  std::vector<Var> kept;
  for (const Eqn& eqn : program.eqns()) {
    const bool all = std::ranges::all_of(eqn.in, [&](Var v) { return bool(known[v]); });
    for (const Var v : eqn.out) known[v] = all;
    if (all && eqn.op == &checkpoint_name_op() && eqn.params.as<CheckpointNameParams>().kept &&
        !has_decided_size(program, program.type(eqn.out[0])))
      kept.push_back(eqn.out[0]);
  }
  return kept;
}

// The Program that reads kept variables behind its inputs, with some of its outputs. Those that it does not read are
// taken from `kept`.
ProgramRef from_kept(const Program& program, std::vector<Var>& kept, std::span<const std::size_t> outputs) {
  ProgramParts parts = program.parts();
  const std::vector<Var> all = std::exchange(parts.outputs, {});
  for (const std::size_t i : outputs) parts.outputs.push_back(all[i]);
  std::vector<bool> is_kept(program.vars(), false), read = is_kept;
  for (const Var v : kept) is_kept[v] = true;
  for (const Var v : parts.outputs) read[v] = true;
  std::vector<Eqn> eqns;  // what is read, from the end
  for (std::size_t i = parts.eqns.size(); i-- > 0;) {
    const Eqn& eqn = parts.eqns[i];
    if (!eqn.out.empty() && is_kept[eqn.out[0]]) continue;
    const bool wanted = effect_of(eqn) != Effect::none || !eqn.new_sizes.empty() ||
                        std::ranges::any_of(eqn.out, [&](Var v) { return bool(read[v]); });
    if (!wanted) continue;
    for (const Var v : eqn.in) read[v] = true;
    eqns.push_back(eqn);
  }
  std::ranges::reverse(eqns);
  parts.eqns = std::move(eqns);
  std::erase_if(kept, [&](Var v) { return !read[v]; });
  parts.inputs.insert(parts.inputs.end(), kept.begin(), kept.end());
  return Program::finish(std::move(parts));
}

// The first part gives the known outputs and stores what is marked to be kept; the second is the whole Program again,
// with the other outputs, from that.
SplitResult checkpoint_split(const SplitArgs& args) {
  const auto& p = args.params.as<CallParams>();
  const Mask unknown_out = args.recurse.reach(p.program, complement(args.known));
  SplitResult split{.first = &checkpoint_info, .second = &checkpoint_info};
  for (std::size_t i = 0; i < args.known.size(); ++i) {
    if (args.known[i]) split.first_in.push_back(i);
    split.second_in.push_back({SplitResult::Source::From::operand, i});
  }
  for (std::size_t i = 0; i < unknown_out.size(); ++i)
    (unknown_out[i] ? split.second_out : split.first_out).push_back(i);
  std::vector<Var> kept = kept_variables(*p.program, args.known);
  const ProgramRef second = from_kept(*p.program, kept, split.second_out);
  for (std::size_t i = 0; i < kept.size(); ++i) split.second_in.push_back({SplitResult::Source::From::residual, i});
  ProgramParts keeping = p.program->parts();
  keeping.outputs.insert(keeping.outputs.end(), kept.begin(), kept.end());
  PartitionRequest request{
      .known_in = args.known, .known_out = complement(unknown_out), .free_in = args.known, .recompute = false};
  request.known_out.resize(keeping.outputs.size(), true);
  const std::size_t known = split.first_out.size() + kept.size();
  const ProgramRef first =
      after(args.recurse.partition(Program::finish(std::move(keeping)), request).first, [&](const Arrays& outputs) {
        return Arrays(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(known));
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
