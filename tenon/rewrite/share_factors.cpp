#include "tenon/rewrite/share_factors.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/base/settings.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/linear_algebra/factors/solve_parts.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

bool is_solve(const Eqn& eqn) { return eqn.op == &solve_op() && eqn.numerics == Numerics::relaxed; }

// The matrices of which factors are shared: those that several eqns solve with, and of a loop's body those that only
// `consts`, its first inputs, decide.
std::set<Var> shared_matrices(const Program& program, std::size_t consts) {
  // A library call that factors and solves costs less than three of small matrices do.
  const std::int64_t smallest = blocks_are_small() ? 1 : 16;
  std::vector<bool> same(program.vars(), false);  // in all steps
  std::map<Var, int> solves;
  std::set<Var> shared;
  for (std::size_t i = 0; i < consts; ++i) same[program.inputs()[i]] = true;
  for (const Eqn& eqn : program.eqns()) {
    const bool all = consts > 0 && effect_of(eqn) == Effect::none && eqn.new_sizes.empty() &&
                     std::ranges::all_of(eqn.in, [&](Var v) { return bool(same[v]); });
    for (const Var v : eqn.out) same[v] = all;
    if (!is_solve(eqn)) continue;
    const Var a = eqn.in[0];
    const Dim rows = program.type(a).shape[program.type(a).rank() - 1];
    const bool again = ++solves[a] > 1 && (!rows.known() || rows.value() >= smallest);
    if (again || (same[a] && !same[eqn.in[1]])) shared.insert(a);
  }
  return shared;
}

ProgramRef shared_in(const ProgramRef& program, std::size_t consts) {
  const std::set<Var> matrices = shared_matrices(*program, consts);
  return rewritten(*program, [&](Replay& replay) {
    std::map<Var, Arrays> factors;
    for (const Eqn& eqn : program->eqns()) {
      if (is_solve(eqn) && matrices.contains(eqn.in[0])) {
        const EqnScope place(eqn);
        const auto [made, first] = factors.try_emplace(eqn.in[0]);
        if (first) made->second = factors_to_solve(replay.get(eqn.in[0]));
        replay.set(eqn.out[0], solve_by_factors(replay.params(eqn), made->second, replay.get(eqn.in[1])));
        continue;
      }
      const bool loop = eqn.op == &loop_op();
      const ProgramRef body = loop ? eqn.params.as<LoopParams>().body : nullptr;
      const std::size_t own = loop ? static_cast<std::size_t>(eqn.params.as<LoopParams>().consts) : 0;
      replay.bind_eqn(eqn, [&](const ProgramRef& p) { return p == body ? shared_in(p, own) : share_factors(p); });
    }
  });
}

bool solves(const Program& program) {
  return find_eqn(program, [](const Eqn& eqn) { return is_solve(eqn); }) != nullptr;
}

}  // namespace

ProgramRef share_factors(const ProgramRef& program) {
  if (!solves(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("share_factors")(program->hash()).finish(), [&] { return shared_in(program, 0); });
}

}  // namespace tenon
