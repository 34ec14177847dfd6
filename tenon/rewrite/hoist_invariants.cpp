#include "tenon/rewrite/hoist_invariants.h"

#include <algorithm>
#include <set>

#include "tenon/ir/adapt.h"
#include "tenon/ir/estimate.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/region.h"
#include "tenon/ops/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Whether its results take less room than what it computes takes time: reductions and products.
bool condenses(const Program& program, const Eqn& eqn) {
  if (is_product(*eqn.op)) return true;
  return rule_of<LowerReduction>(*eqn.op) != nullptr &&
         estimated_elements(program, eqn.out) < estimated_elements(program, eqn.in);
}

// Whether an eqn tells a size of these, in its params or the types of its results.
bool tells(const Program& body, const Eqn& eqn, const std::set<SizeVar>& sizes) {
  bool any = false;
  if (sizes.empty()) return any;
  const auto see = [&](const Dim& d) { d.visit_variables([&](SizeVar s) { any = any || sizes.contains(s); }); };
  eqn.params.visit_dims(see);
  for (const Var v : eqn.out) body.type(v).visit_dims(see);
  return any;
}

// The eqns of a body that go, with what they read, as a Program of the loop's constants.
struct Invariants {
  std::vector<const Eqn*> eqns;
  std::vector<Var> given;  // what the body reads of them
};

Invariants invariants_of(const LoopParams& p) {
  const Program& body = *p.body;
  std::vector<bool> alike(body.vars(), false), goes(body.vars(), false);
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.consts); ++i) alike[body.inputs()[i]] = true;
  std::vector<const Eqn*> pure;
  std::set<SizeVar> decided;  // by data, in the body: outside there is no such size
  for (const Eqn& eqn : body.eqns()) {
    decided.insert(eqn.new_sizes.begin(), eqn.new_sizes.end());
    const bool arrays = std::ranges::all_of(eqn.out, [&](Var v) { return body.type(v).is_array(); });
    if (!arrays || effect_of(eqn) != Effect::none || !eqn.new_sizes.empty() ||
        !std::ranges::all_of(eqn.in, [&](Var v) { return alike[v]; }) || tells(body, eqn, decided))
      continue;
    for (const Var v : eqn.out) alike[v] = true;
    pure.push_back(&eqn);
  }
  Invariants found;
  std::vector<bool> needed(body.vars(), false);
  for (std::size_t i = pure.size(); i-- > 0;) {
    const Eqn& eqn = *pure[i];
    const bool condensed = condenses(body, eqn);
    const bool read = std::ranges::any_of(eqn.out, [&](Var v) { return needed[v]; });
    if (!condensed && !read) continue;
    for (const Var v : eqn.in) needed[v] = true;
    for (const Var v : eqn.out) goes[v] = condensed;
    found.eqns.push_back(&eqn);
  }
  std::ranges::reverse(found.eqns);
  // What stays behind reads of it; elementwise ops that were needed are computed on both sides.
  std::vector<bool> read(body.vars(), false);
  for (const Var v : body.outputs()) read[v] = true;
  for (std::size_t i = body.eqns().size(); i-- > 0;) {
    const Eqn& eqn = body.eqns()[i];
    const bool stays = std::ranges::none_of(eqn.out, [&](Var v) { return goes[v]; });
    if (stays && (effect_of(eqn) != Effect::none || std::ranges::any_of(eqn.out, [&](Var v) { return read[v]; })))
      for (const Var v : eqn.in) read[v] = true;
  }
  for (const Eqn* eqn : found.eqns)
    for (const Var v : eqn->out)
      if (goes[v] && read[v]) found.given.push_back(v);
  return found;
}

ProgramRef without(const LoopParams& p, const Invariants& invariants) {
  const Program& body = *p.body;
  const auto consts = static_cast<std::size_t>(p.consts);
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(body);
  Replay replay(body, sizes);
  const auto input = [&](Var v) { replay.set(v, scope.input(replay.type(v))); };
  for (std::size_t i = 0; i < consts; ++i) input(body.inputs()[i]);
  for (const Var v : invariants.given) input(v);
  for (std::size_t i = consts; i < body.inputs().size(); ++i) input(body.inputs()[i]);
  const std::set<Var> given(invariants.given.begin(), invariants.given.end());
  for (const Eqn& eqn : body.eqns())
    if (eqn.out.empty() || !given.contains(eqn.out[0])) replay.bind_eqn(eqn);
  Arrays out;
  for (const Var v : body.outputs()) out.push_back(replay.get(v));
  return scope.finish(out, body.name()).program;
}

Arrays hoisted(const LoopParams& p, const Invariants& invariants, std::span<const Array> operands) {
  const auto consts = static_cast<std::ptrdiff_t>(p.consts);
  Replay before(*p.body, p.body_sizes);
  for (std::ptrdiff_t i = 0; i < consts; ++i)
    before.set(p.body->inputs()[static_cast<std::size_t>(i)], operands[static_cast<std::size_t>(i)]);
  for (const Eqn* moved : invariants.eqns) before.bind_eqn(*moved);
  LoopParams fewer = p;
  fewer.body = without(p, invariants);
  Arrays in(operands.begin(), operands.begin() + consts);
  std::vector<Type> types;
  for (const Var v : invariants.given) {
    in.push_back(before.get(v));
    types.push_back(in.back().type());
  }
  in.insert(in.end(), operands.begin() + consts, operands.end());
  fewer.consts += static_cast<std::int64_t>(types.size());
  if (p.cond) {
    std::vector<std::optional<std::size_t>> from;
    for (std::size_t i = 0; i < p.cond->inputs().size(); ++i) from.emplace_back(i);
    from.insert(from.begin() + consts, types.size(), std::nullopt);
    std::vector<Type> of(from.size());
    std::ranges::copy(types, of.begin() + consts);
    fewer.cond = adapt(*p.cond, from, of, std::vector<std::size_t>{0}, fewer.cond_sizes);
  }
  return loop(fewer, in);
}

}  // namespace

ProgramRef hoist_invariants(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("hoist_invariants")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      for (const Eqn& eqn : program->eqns()) {
        if (eqn.op != &loop_op()) {
          replay.bind_eqn(eqn, hoist_invariants);
          continue;
        }
        const EqnScope place(eqn);
        const Params params =
            replay.params(eqn).map_programs([](const ProgramRef& p) { return p ? hoist_invariants(p) : p; });
        const auto& p = params.as<LoopParams>();
        const Invariants invariants = invariants_of(p);
        replay.set_results(eqn, invariants.given.empty() ? bind_op(*eqn.op, params, replay.operands(eqn))
                                                         : hoisted(p, invariants, replay.operands(eqn)));
      }
    });
  });
}

}  // namespace tenon
