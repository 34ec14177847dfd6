// Calls (checkpoints and functions with derivatives of their own too) replaced by what they call, in regions too.
#include "tenon/ir/replay.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

const LowerCall* call_of(const OpInfo& op) { return op.lower ? std::get_if<LowerCall>(&*op.lower) : nullptr; }

bool has_calls(const Program& program) {
  for (const Eqn& eqn : program.eqns()) {
    if (call_of(*eqn.op) != nullptr) return true;
    bool nested = false;
    eqn.params.visit_programs([&](const ProgramRef& p) { nested = nested || (p && has_calls(*p)); });
    if (nested) return true;
  }
  return false;
}

void inline_into(const Program& program, Replay& replay) {
  for (const Eqn& eqn : program.eqns()) {
    const EqnScope place(eqn);
    Params params = replay.params(eqn);
    Arrays results;
    if (const LowerCall* call = call_of(*eqn.op)) {
      const LowerCall::Callee callee = call->rule(params);
      results = inline_program(*inline_calls(callee.program), callee.sizes, replay.operands(eqn));
    } else {
      params = params.map_programs([](const ProgramRef& p) { return p ? inline_calls(p) : p; });
      results = bind_op(*eqn.op, params, replay.operands(eqn));
    }
    replay.bind_sizes(eqn, results);
    for (std::size_t i = 0; i < eqn.out.size(); ++i) replay.set(eqn.out[i], results[i]);
  }
}

}  // namespace

ProgramRef inline_calls(const ProgramRef& program) {
  if (!has_calls(*program)) return program;
  static Memo<ProgramRef> memo;
  return memo.get(Hasher()("inline")(program->hash()).finish(), [&] {
    Scope scope;
    const std::vector<Dim> sizes = scope.size_params_of(*program);
    Replay replay(*program, sizes);
    for (Var v : program->inputs()) replay.set(v, scope.input(replay.type(v)));
    inline_into(*program, replay);
    Arrays outputs;
    for (Var v : program->outputs()) outputs.push_back(replay.get(v));
    return scope.finish(outputs, program->name()).program;
  });
}

}  // namespace tenon
