#include "tenon/rewrite/strictly.h"

#include "tenon/ir/replay.h"
#include "tenon/ops/element_form.h"
#include "tenon/transform/memo.h"

namespace tenon {

ProgramRef strictly(const ProgramRef& program) {
  const auto relaxed = [](const Eqn& eqn) { return eqn.numerics != Numerics::strict; };
  if (find_eqn(*program, relaxed) == nullptr) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("strictly")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      Scope::top()->numerics = Numerics::strict;
      for (const Eqn& eqn : program->eqns()) replay.bind_eqn(eqn, strictly);
    });
  });
}

ProgramRef as_op_by_op(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("as_op_by_op")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      for (const Eqn& eqn : program->eqns()) {
        Scope::top()->numerics = is_element(eqn) ? Numerics::strict : Numerics::relaxed;
        replay.bind_eqn(eqn);
      }
    });
  });
}

}  // namespace tenon
