#include "tenon/rewrite/strictly.h"

#include "tenon/ir/replay.h"
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

}  // namespace tenon
