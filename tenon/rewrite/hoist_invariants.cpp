#include "tenon/rewrite/hoist_invariants.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/base/settings.h"
#include "tenon/ir/estimate.h"
#include "tenon/ops/loop_edit.h"
#include "tenon/ops/structure.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

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

// The eqns of a body that go, with what they read.
struct Going {
  std::vector<const Eqn*> eqns;
  std::vector<Var> given;  // what the body reads of them
};

// Of eqns that depend on the body's inputs `of` alone: those for which it pays, and what these read.
template <class Pays>
Going going(const LoopParams& p, const Mask& of, Pays pays) {
  const Program& body = *p.body;
  std::vector<bool> depends(body.vars(), true), goes(body.vars(), false);
  for (std::size_t i = 0; i < of.size(); ++i) depends[body.inputs()[i]] = !of[i];
  std::vector<const Eqn*> pure;
  std::set<SizeVar> decided;  // by data, in the body: outside there is no such size
  for (const Eqn& eqn : body.eqns()) {
    decided.insert(eqn.new_sizes.begin(), eqn.new_sizes.end());
    const bool arrays = std::ranges::all_of(eqn.out, [&](Var v) { return body.type(v).is_array(); });
    if (!arrays || effect_of(eqn) != Effect::none || !eqn.new_sizes.empty() ||
        std::ranges::any_of(eqn.in, [&](Var v) { return depends[v]; }) || tells(body, eqn, decided))
      continue;
    for (const Var v : eqn.out) depends[v] = false;
    pure.push_back(&eqn);
  }
  Going found;
  std::vector<bool> needed(body.vars(), false);
  for (std::size_t i = pure.size(); i-- > 0;) {
    const Eqn& eqn = *pure[i];
    const bool paid = pays(eqn);
    const bool read = std::ranges::any_of(eqn.out, [&](Var v) { return needed[v]; });
    if (!paid && !read) continue;
    for (const Var v : eqn.in) needed[v] = true;
    for (const Var v : eqn.out) goes[v] = paid;
    found.eqns.push_back(&eqn);
  }
  std::ranges::reverse(found.eqns);
  // What stays behind reads of it; what was needed, but does not pay by itself, is computed on both sides.
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

// The loop, given by `add` what goes.
template <class Add>
Arrays without(const LoopParams& p, const Arrays& operands, const Going& going, Add add) {
  LoopEdit edit(p, operands);
  std::map<Var, LoopEdit::Added> given;
  for (std::size_t i = 0; i < going.given.size(); ++i) given.emplace(going.given[i], add(edit, i));
  const auto write = [&](LoopEdit::Step& step) {
    for (const auto& [v, added] : given) step.old.set(v, step.at(added));
    for (const Eqn& eqn : p.body->eqns())
      if (eqn.out.empty() || !given.contains(eqn.out[0])) step.old.bind_eqn(eqn);
  };
  return edit.build(write).results;
}

Mask first(std::int64_t count, std::size_t of) {
  Mask mask(of, false);
  std::fill_n(mask.begin(), count, true);
  return mask;
}

Going invariants_of(const LoopParams& p) {
  return going(p, first(p.consts, p.body->inputs().size()), [&](const Eqn& eqn) { return condenses(*p.body, eqn); });
}
Arrays with_invariants(const LoopParams& p, const Going& going, const Arrays& operands) {
  Replay before(*p.body, p.body_sizes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.consts); ++i) before.set(p.body->inputs()[i], operands[i]);
  for (const Eqn* moved : going.eqns) before.bind_eqn(*moved);
  return without(p, operands, going,
                 [&](LoopEdit& edit, std::size_t i) { return edit.add_const(before.get(going.given[i])); });
}

constexpr std::int64_t few_rows = 8;         // of a product
constexpr double first_level = 1 << 14;      // bytes of a matrix that stay in the first-level cache beside others
constexpr std::int64_t widened_at_most = 8;  // times the elements that a product reads

// Whether a matrix, the same in all steps, is multiplied with few rows of a step.
bool pays_for_all_steps(const Program& body, const Eqn& eqn, const std::vector<bool>& of_step) {
  if (!is_product(*eqn.op) || eqn.numerics == Numerics::strict) return false;
  const Type &a = body.type(eqn.in[0]), &b = body.type(eqn.in[1]);
  if (of_step[eqn.in[0]] == of_step[eqn.in[1]] || !a.shape.known() || !b.shape.known()) return false;
  const ProductForm form = product_form(eqn.params, a, b);
  if (!form.batch_a.empty()) return false;
  const bool left = of_step[eqn.in[0]];
  const Type &step = left ? a : b, &matrix = left ? b : a;
  double rows = 1;
  for (const std::int64_t axis : left ? form.free_a : form.free_b)
    rows *= estimate(step.shape[static_cast<std::size_t>(axis)]);
  const double least = blocks_are_small() ? 1 : first_level;
  return rows <= few_rows && estimated_bytes(matrix) >= least &&
         estimated_elements(body.type(eqn.out[0])) <= widened_at_most * estimated_elements(step);
}

Going maps_of(const LoopParams& p) {
  if (p.cond || p.lanes || !p.length || *p.length == Dim(0)) return {};
  const Program& body = *p.body;
  const LoopRoles roles(p);
  Mask of = first(p.consts, body.inputs().size());
  std::vector<bool> of_step(body.vars(), true);
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (roles.is_xs(i)) of[i] = body.type(body.inputs()[i]).is_array();
    if (roles.is_const(i)) of_step[body.inputs()[i]] = false;
  }
  for (const Eqn& eqn : body.eqns())
    for (const Var v : eqn.out) of_step[v] = std::ranges::any_of(eqn.in, [&](Var x) { return of_step[x]; });
  return going(p, of, [&](const Eqn& eqn) { return pays_for_all_steps(body, eqn, of_step); });
}
Arrays with_maps(const LoopParams& p, const Going& going, const Arrays& operands) {
  const Program& body = *p.body;
  const LoopRoles roles(p);
  Arrays given;
  Mask batched;
  TraceResult one;
  {
    Scope scope;
    Replay step(body, p.body_sizes);
    const std::vector<Type> types = body_input_types(p, types_of(operands));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (roles.is_carry(i) || !types[i].is_array()) continue;
      step.set(body.inputs()[i], scope.input(types[i]));
      given.push_back(operands[i]);
      batched.push_back(roles.is_xs(i));
    }
    for (const Eqn* moved : going.eqns) step.bind_eqn(*moved);
    Arrays outputs;
    for (const Var v : going.given) outputs.push_back(step.get(v));
    one = scope.finish(outputs, body.name() + "_maps");
  }
  const ProgramRef all = vmap(one.program, batched, Mask(going.given.size(), true), *p.length);
  std::vector<Dim> sizes = one.sizes;
  if (!p.length->known()) sizes.push_back(*p.length);
  const Arrays made = inline_program(*all, sizes, given);
  return without(p, operands, going, [&](LoopEdit& edit, std::size_t i) { return edit.add_xs(made[i]); });
}

// The Program with what goes from each loop before it, inner loops first.
template <class Of, class With>
ProgramRef hoisted(const ProgramRef& program, ProgramRef pass(const ProgramRef&), Of of, With with) {
  return rewritten(*program, [&](Replay& replay) {
    for (const Eqn& eqn : program->eqns()) {
      if (eqn.op != &loop_op()) {
        replay.bind_eqn(eqn, pass);
        continue;
      }
      const EqnScope place(eqn);
      const Params params = replay.params(eqn).map_programs([&](const ProgramRef& p) { return p ? pass(p) : p; });
      const auto& p = params.as<LoopParams>();
      const Going going = of(p);
      const Arrays operands = replay.operands(eqn);
      replay.set_results(eqn, going.given.empty() ? bind_op(*eqn.op, params, operands) : with(p, going, operands));
    }
  });
}

}  // namespace

ProgramRef hoist_invariants(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("hoist_invariants")(program->hash()).finish(),
                  [&] { return hoisted(program, hoist_invariants, invariants_of, with_invariants); });
}

ProgramRef hoist_maps(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("hoist_maps")(program->hash()).finish(),
                  [&] { return hoisted(program, hoist_maps, maps_of, with_maps); });
}

}  // namespace tenon
