// Calls (checkpoints and functions with derivatives of their own too) replaced by what they call, and ops that are the
// identity to all but transformations by their operand, in regions too.
#include <algorithm>
#include <unordered_map>

#include "tenon/base/stack.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/callee.h"
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

// The Program without the outputs that nothing reads.
ProgramRef with_outputs(const ProgramRef& program, const Mask& read) {
  if (std::ranges::all_of(read, [](bool r) { return r; })) return program;
  return after(program, [&](const Arrays& all) {
    Arrays outputs;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (read[i]) outputs.push_back(all[i]);
    return outputs;
  });
}

// What a function that stays gives; zeros in place of what nothing reads.
Arrays call_for(const LowerCall::Callee& callee, const Eqn& eqn, const std::vector<int>& reads, const Replay& replay) {
  Mask read;
  for (const Var v : eqn.out) read.push_back(reads[v] > 0);
  const Arrays made = call(with_outputs(callee.program, read), callee.sizes, replay.operands(eqn));
  Arrays results;
  for (std::size_t i = 0, k = 0; i < eqn.out.size(); ++i)
    results.push_back(read[i] ? made[k++] : zeros_of(replay.type(eqn.out[i])));
  return results;
}

// `inlined`: of regions, and of Programs that calls are replaced by.
void inline_into(const Program& program, Replay& replay, FunctionRef<ProgramRef(const ProgramRef&)> inlined,
                 FunctionRef<bool(const LowerCall&, const Program&)> stays) {
  const std::vector<int> reads = reads_of(program);
  for (const Eqn& eqn : program.eqns()) {
    if (is_identity(*eqn.op)) {
      replay.set_results(eqn, Arrays{replay.get(eqn.in[0])});
      continue;
    }
    const LowerCall* call = call_of(*eqn.op);
    if (call == nullptr) {
      replay.bind_eqn(eqn, inlined);
      continue;
    }
    const EqnScope place(eqn);
    const LowerCall::Callee callee = call->rule(replay.params(eqn));
    replay.set_results(eqn, stays(*call, *callee.program)
                                ? call_for(callee, eqn, reads, replay)
                                : inline_program(*inlined(callee.program), callee.sizes, replay.operands(eqn)));
  }
}

bool none_stays(const LowerCall&, const Program&) { return false; }

}  // namespace

ProgramRef inline_calls(const ProgramRef& program) {
  if (!has_calls(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("inline")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      inline_into(*program, replay, [](const ProgramRef& p) { return inline_calls(p); }, none_stays);
    });
  });
}

ProgramRef inline_calls(const ProgramRef& program, FunctionRef<bool(const LowerCall&, const Program&)> stays) {
  std::unordered_map<Hash128, ProgramRef> made;
  const auto inlined = [&](const auto& self, const ProgramRef& p) -> ProgramRef {
    if (!has_calls(*p)) return p;
    if (const auto found = made.find(p->hash()); found != made.end()) return found->second;
    require_stack();
    const auto recurse = [&](const ProgramRef& inside) { return self(self, inside); };
    ProgramRef result = rewritten(*p, [&](Replay& replay) { inline_into(*p, replay, recurse, stays); });
    return made.emplace(p->hash(), std::move(result)).first->second;
  };
  return inlined(inlined, program);
}

}  // namespace tenon
