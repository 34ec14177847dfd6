// Calls (checkpoints and functions with derivatives of their own too) replaced by what they call, and ops that are the
// identity to all but transformations by their operand, in regions too.
#include "tenon/ir/replay.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

const LowerCall* call_of(const OpInfo& op) { return rule_of<LowerCall>(op); }

bool is_identity(const OpInfo& op) {
  const auto* element = rule_of<LowerElement>(op);
  return element != nullptr && element->identity;
}

bool has_calls(const Program& program) {
  return find_eqn(program, [](const Eqn& eqn) { return call_of(*eqn.op) != nullptr || is_identity(*eqn.op); }) !=
         nullptr;
}

void inline_into(const Program& program, Replay& replay) {
  for (const Eqn& eqn : program.eqns()) {
    if (is_identity(*eqn.op)) {
      replay.set_results(eqn, Arrays{replay.get(eqn.in[0])});
      continue;
    }
    const LowerCall* call = call_of(*eqn.op);
    if (call == nullptr) {
      replay.bind_eqn(eqn, inline_calls);
      continue;
    }
    const EqnScope place(eqn);
    const LowerCall::Callee callee = call->rule(replay.params(eqn));
    replay.set_results(eqn, inline_program(*inline_calls(callee.program), callee.sizes, replay.operands(eqn)));
  }
}

}  // namespace

ProgramRef inline_calls(const ProgramRef& program) {
  if (!has_calls(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("inline")(program->hash()).finish(),
                  [&] { return rewritten(*program, [&](Replay& replay) { inline_into(*program, replay); }); });
}

}  // namespace tenon
