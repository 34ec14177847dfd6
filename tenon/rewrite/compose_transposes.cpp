#include "tenon/rewrite/compose_transposes.h"

#include <algorithm>
#include <map>

#include "tenon/ir/replay.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using Permutation = std::vector<std::int64_t>;

bool has_transposed_transposes(const Program& program) {
  std::vector<bool> transposed(program.vars(), false);
  for (const Eqn& eqn : program.eqns()) {
    if (eqn.op == &transpose_op()) {
      if (transposed[eqn.in[0]]) return true;
      transposed[eqn.out[0]] = true;
    }
    bool nested = false;
    eqn.params.visit_programs([&](const ProgramRef& p) { nested = nested || (p && has_transposed_transposes(*p)); });
    if (nested) return true;
  }
  return false;
}

// Axis i of the result is axis first[second[i]].
Permutation composed(const Permutation& first, const Permutation& second) {
  Permutation both;
  for (std::int64_t axis : second) both.push_back(first[static_cast<std::size_t>(axis)]);
  return both;
}

}  // namespace

ProgramRef compose_transposes(const ProgramRef& program) {
  if (!has_transposed_transposes(*program)) return program;
  static Memo<ProgramRef> memo;
  return memo.get(Hasher()("compose_transposes")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      std::map<Var, std::pair<Var, Permutation>> made;  // what each result of a transpose is in whole
      for (const Eqn& eqn : program->eqns()) {
        if (eqn.op != &transpose_op()) {
          replay.bind_eqn(eqn, compose_transposes);
          continue;
        }
        const EqnScope place(eqn);
        Var source = eqn.in[0];
        Permutation permutation = permutation_of(eqn.params);
        if (const auto inner = made.find(source); inner != made.end()) {
          permutation = composed(inner->second.second, permutation);
          source = inner->second.first;
        }
        const bool none = std::ranges::is_sorted(permutation);
        replay.set(eqn.out[0], none ? replay.get(source) : transpose(replay.get(source), permutation));
        made.emplace(eqn.out[0], std::pair(source, std::move(permutation)));
      }
    });
  });
}

}  // namespace tenon
