// Checkpoints of flat functions, and what a policy lets reverse mode keep of them.
#include <map>

#include "tenon/api/custom.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/custom.h"
#include "tenon/ops/control/region.h"

namespace tenon::api_detail {
namespace {

// Programs with a mark behind what a policy keeps. Calls in which it keeps something are replaced by the bodies; others
// stay calls: their bodies may be shared by many.
class Marks {
 public:
  explicit Marks(Keeps policy) : policy_(policy) {}
  // nullptr: nothing of it is kept.
  ProgramRef operator()(const ProgramRef& program) {
    if (const auto found = marked_.find(program); found != marked_.end()) return found->second;
    bool any = false;
    ProgramRef result = rewritten(*program, [&](Replay& replay) {
      for (const Eqn& eqn : program->eqns()) any = copy(*program, eqn, replay) || any;
    });
    return marked_[program] = any ? std::move(result) : nullptr;
  }

 private:
  bool copy(const Program& program, const Eqn& eqn, Replay& replay) {
    const EqnScope place(eqn);
    if (eqn.op == &call_op()) {
      const Params params = replay.params(eqn);
      const auto& callee = params.as<CallParams>();
      const ProgramRef inside = (*this)(callee.program);
      if (inside)
        replay.set_results(eqn, inline_program(*inside, callee.sizes, replay.operands(eqn)));
      else
        replay.bind_eqn(eqn);
      return inside != nullptr;
    }
    replay.bind_eqn(eqn);
    if (eqn.out.empty() || effect_of(eqn) != Effect::none || !policy_(program, eqn)) return false;
    for (const Var v : eqn.out)
      if (program.type(v).is_array()) replay.set(v, checkpoint_name(replay.get(v), {}, true));
    return true;
  }

  Keeps policy_;
  std::map<ProgramRef, ProgramRef> marked_;
};

}  // namespace

Arrays checkpoint_flat(FlatFunction f, std::span<const Array> arguments, Keeps policy) {
  TracedFunction traced = trace_flat(f, arguments, writes_refs, knows_values());
  if (policy)
    if (const ProgramRef marked = Marks(policy)(traced.program)) traced.program = marked;
  return with_writes_done(traced, bind_checkpoint(traced.program, traced.sizes, joined({arguments, traced.captures})));
}

}  // namespace tenon::api_detail
