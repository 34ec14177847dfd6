// Checkpoints of flat functions, and what a policy lets reverse mode keep of them.
#include "tenon/api/custom.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/custom.h"
#include "tenon/ops/region.h"

namespace tenon::api_detail {
namespace {

// The Program with a mark behind what the policy keeps; calls are replaced by the bodies.
ProgramRef marked(const Program& program, Keeps policy) {
  return rewritten(program, [&](Replay& replay) {
    for (const Eqn& eqn : program.eqns()) {
      const EqnScope place(eqn);
      if (eqn.op == &call_op()) {
        const Params params = replay.params(eqn);
        const auto& callee = params.as<CallParams>();
        replay.set_results(eqn, inline_program(*marked(*callee.program, policy), callee.sizes, replay.operands(eqn)));
        continue;
      }
      replay.bind_eqn(eqn);
      if (eqn.out.empty() || effect_of(eqn) != Effect::none || !policy(program, eqn)) continue;
      for (const Var v : eqn.out)
        if (program.type(v).is_array()) replay.set(v, checkpoint_name(replay.get(v), {}, true));
    }
  });
}

}  // namespace

Arrays checkpoint_flat(FlatFunction f, std::span<const Array> arguments, Keeps policy) {
  TracedFunction traced = trace_flat(f, arguments, writes_refs, knows_values());
  if (policy) traced.program = marked(*traced.program, policy);
  Arrays results =
      weakly_typed(bind_checkpoint(traced.program, traced.sizes, joined({arguments, traced.captures})), traced.weak);
  const std::vector<CellRef> refs = traced.written();
  for (std::size_t k = 0; k < refs.size(); ++k) write_cell(refs[k], results[traced.results() + k]);
  results.resize(traced.results());
  return results;
}

}  // namespace tenon::api_detail
