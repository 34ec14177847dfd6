// Calls replaced by what they call, in regions too.
#include "tenon/ir/replay.h"
#include "tenon/ops/region.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

bool has_calls(const Program& program) {
  for (const Eqn& eqn : program.eqns()) {
    if (eqn.op == &call_op()) return true;
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
    if (eqn.op == &call_op()) {
      const auto& p = params.as<CallParams>();
      const ProgramRef callee = inline_calls(p.program);
      results = inline_program(*callee, p.sizes, replay.operands(eqn));
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
    std::vector<Dim> sizes;
    for (std::size_t i = 0; i < program->size_params().size(); ++i) sizes.push_back(scope.size_param());
    Replay replay(*program, sizes);
    for (Var v : program->inputs()) replay.set(v, scope.input(replay.type(v)));
    inline_into(*program, replay);
    Arrays outputs;
    for (Var v : program->outputs()) outputs.push_back(replay.get(v));
    return scope.finish(outputs, program->name()).program;
  });
}

}  // namespace tenon
