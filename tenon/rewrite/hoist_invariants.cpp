#include "tenon/rewrite/hoist_invariants.h"

#include <algorithm>
#include <limits>
#include <map>
#include <ranges>
#include <set>

#include "tenon/base/settings.h"
#include "tenon/ir/estimate.h"
#include "tenon/ops/control/host.h"
#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

// Of eqns of constants in the order of a body: whether storing the results costs less than making them in each step.
class PaysBeforeLoop {
 public:
  explicit PaysBeforeLoop(const Program& body) : body_(body), stored_(body.vars(), 0) {
    for (const Var v : body.inputs()) stored_[v] = estimated_elements(body.type(v));
  }

  bool operator()(const Eqn& eqn) {
    constexpr double dear = 4, widened = 2;  // operations an element; times what lies in memory anyway
    double source = 0;
    for (const Var v : eqn.in) source = std::max(source, stored_[v]);
    const double elements = estimated_elements(body_, eqn.out);
    bool pays = true;  // products, factors, orders, loops
    if (rule_of<LowerReduction>(*eqn.op) != nullptr) {
      pays = elements < estimated_elements(body_, eqn.in);
    } else if (is_element(eqn)) {
      if (eqn.in.empty()) source = elements;
      pays = !eqn.in.empty() && elements <= widened * source && element_form(body_, eqn).operations >= dear;
    }
    // What does not go is made of as much as lies in memory for it: pairs of rows are made of the rows.
    for (const Var v : eqn.out) stored_[v] = pays || !is_element(eqn) ? estimated_elements(body_.type(v)) : source;
    return pays;
  }

 private:
  const Program& body_;
  std::vector<double> stored_;  // elements of the largest array that a variable is made of
};

// Whether an eqn tells a size of these, in its params or the types of its results.
bool tells(const Program& body, const Eqn& eqn, const std::set<SizeVar>& sizes) {
  bool any = false;
  if (sizes.empty()) return any;
  const auto see = [&](const Dim& d) { d.visit_variables([&](SizeVar s) { any = any || sizes.contains(s); }); };
  eqn.params.visit_dims(see);
  for (const Var v : eqn.out) body.type(v).visit_dims(see);
  return any;
}

// Whether an eqn calls functions of the user's, which may throw.
bool calls_host(const Eqn& eqn) {
  bool any = is_host_call(*eqn.op);
  eqn.params.visit_programs(
      [&](const ProgramRef& p) { any = any || (p && std::ranges::any_of(p->eqns(), calls_host)); });
  return any;
}

// The eqns of a body that go, with what they read.
struct Going {
  std::vector<const Eqn*> eqns;
  std::vector<Var> given;      // what the body reads of them
  std::set<const Eqn*> stays;  // that the body has still
  bool empty() const { return given.empty(); }
};

// Of eqns that depend on the body's inputs `of` alone: those for which it pays, and what these read.
template <class Pays>
Going going(const LoopParams& p, const Mask& of, Pays pays) {
  const Program& body = *p.body;
  std::vector<bool> depends(body.vars(), true), goes(body.vars(), false);
  for (std::size_t i = 0; i < of.size(); ++i) depends[body.inputs()[i]] = !of[i];
  std::vector<const Eqn*> pure;
  std::vector<bool> paying;   // of each of these
  std::set<SizeVar> decided;  // by data, in the body: outside there is no such size
  for (const Eqn& eqn : body.eqns()) {
    decided.insert(eqn.new_sizes.begin(), eqn.new_sizes.end());
    const bool arrays = std::ranges::all_of(eqn.out, [&](Var v) { return body.type(v).is_array(); });
    if (!arrays || effect_of(eqn) != Effect::none || !eqn.new_sizes.empty() ||
        std::ranges::any_of(eqn.in, [&](Var v) { return depends[v]; }) || tells(body, eqn, decided) || calls_host(eqn))
      continue;
    for (const Var v : eqn.out) depends[v] = false;
    pure.push_back(&eqn);
    paying.push_back(pays(eqn));
  }
  Going found;
  std::vector<bool> needed(body.vars(), false);
  for (std::size_t i = pure.size(); i-- > 0;) {
    const Eqn& eqn = *pure[i];
    const bool paid = paying[i];
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
    const bool gone = std::ranges::any_of(eqn.out, [&](Var v) { return goes[v]; });
    const bool needed_here = effect_of(eqn) != Effect::none || !eqn.new_sizes.empty() ||
                             std::ranges::any_of(eqn.out, [&](Var v) { return read[v]; });
    if (gone || !needed_here) continue;
    found.stays.insert(&eqn);
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
      if (going.stays.contains(&eqn)) step.old.bind_eqn(eqn);
  };
  return edit.build(write).results;
}

Mask first(std::int64_t count, std::size_t of) {
  Mask mask(of, false);
  std::fill_n(mask.begin(), count, true);
  return mask;
}

Going invariants_of(const Eqn&, const LoopParams& p) {
  return going(p, first(p.consts, p.body->inputs().size()), PaysBeforeLoop(*p.body));
}
Arrays with_invariants(const LoopParams& p, const Going& going, const Arrays& operands) {
  Replay before(*p.body, p.body_sizes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.consts); ++i) before.set(p.body->inputs()[i], operands[i]);
  for (const Eqn* moved : going.eqns) before.bind_eqn(*moved);
  return without(p, operands, going,
                 [&](LoopEdit& edit, std::size_t i) { return edit.add_const(before.get(going.given[i])); });
}

double multiplications(const Program& body, const Eqn& product) {
  const Type &a = body.type(product.in[0]), &b = body.type(product.in[1]);
  return product_form(product.params, a, b).multiplications(body.type(product.out[0]));
}
// Products of constants that cost no more than what reads them in all steps.
Going matrices_of(const Eqn&, const LoopParams& p) {
  const Program& body = *p.body;
  const double steps = p.cond || !p.length ? std::numeric_limits<double>::infinity() : estimate(*p.length);
  std::vector<bool> of_step(body.vars(), true);
  std::vector<double> read(body.vars(), 0);  // work of a step on what is made of a variable
  std::set<const Eqn*> pays;
  for (std::int64_t i = 0; i < p.consts; ++i) of_step[body.inputs()[static_cast<std::size_t>(i)]] = false;
  for (const Eqn& eqn : body.eqns())
    for (const Var v : eqn.out) of_step[v] = std::ranges::any_of(eqn.in, [&](Var x) { return of_step[x]; });
  for (const Eqn& eqn : body.eqns() | std::views::reverse) {
    const bool product = is_product(*eqn.op), varies = std::ranges::any_of(eqn.out, [&](Var v) { return of_step[v]; });
    const double work = product ? multiplications(body, eqn) : estimated_elements(body, eqn.out);
    if (!varies && product && read[eqn.out[0]] > 0 && steps * read[eqn.out[0]] >= work) pays.insert(&eqn);
    double passed = varies ? work : 0;
    if (!varies && !product)
      for (const Var v : eqn.out) passed += read[v];
    for (const Var v : eqn.in) read[v] += passed;
  }
  return going(p, first(p.consts, body.inputs().size()), [&](const Eqn& eqn) { return pays.contains(&eqn); });
}

constexpr std::int64_t few_rows = 8;         // of a product
constexpr double first_level = 1 << 14;      // bytes of a matrix that stay in the first-level cache beside others
constexpr std::int64_t widened_at_most = 8;  // times the elements that a product reads
constexpr double lengthened_at_most = 4;     // times the bytes that a step makes them of: rows of a product

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
// Whether the rows that it is multiplied with are not far longer than what a step makes them of. `made_of`: of each
// variable, how many bytes of what the loop runs along that is.
bool has_rows_of_step(const Program& body, const Eqn& eqn, const std::vector<bool>& of_step,
                      const std::vector<double>& made_of) {
  const Var rows = eqn.in[of_step[eqn.in[0]] ? 0 : 1];
  return estimated_bytes(body.type(rows)) <= lengthened_at_most * made_of[rows];
}

Going maps_of(const Eqn&, const LoopParams& p) {
  if (p.cond || p.lanes || !p.length || *p.length == Dim(0)) return {};
  const Program& body = *p.body;
  const LoopRoles roles(p);
  Mask of = first(p.consts, body.inputs().size());
  std::vector<bool> of_step(body.vars(), true);
  std::vector<double> made_of(body.vars(), 0);
  double of_all_xs = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const Var v = body.inputs()[i];
    if (roles.is_xs(i)) of[i] = body.type(v).is_array();
    if (roles.is_const(i)) of_step[v] = false;
    if (of[i] && roles.is_xs(i)) of_all_xs += made_of[v] = estimated_bytes(body.type(v));
  }
  for (const Eqn& eqn : body.eqns()) {
    double all = 0;  // once for each path: no more than all there are
    for (const Var v : eqn.in) all = std::min(all + made_of[v], of_all_xs);
    for (const Var v : eqn.out) {
      of_step[v] = std::ranges::any_of(eqn.in, [&](Var x) { return of_step[x]; });
      made_of[v] = all;
    }
  }
  return going(p, of, [&](const Eqn& eqn) {
    return pays_for_all_steps(body, eqn, of_step) && has_rows_of_step(body, eqn, of_step, made_of);
  });
}
// Variables of the body in all steps at once, along axis 0: by these eqns, of constants, of what the loop runs along,
// and of stacks of values of the step.
Arrays of_all_steps(const LoopParams& p, const std::set<const Eqn*>& eqns, const std::vector<Var>& wanted,
                    const Arrays& operands, const std::map<Var, Array>& stacks) {
  const Program& body = *p.body;
  const LoopRoles roles(p);
  Arrays given;
  Mask batched;
  TraceResult one;
  {
    Scope scope;
    Replay step(body, p.body_sizes);
    const auto input = [&](Var v, const Array& of, bool of_step) {
      const Type t = of.type();
      step.set(v, scope.input(of_step ? Type::array(t.dtype, t.shape.without_axis(0)) : t));
      given.push_back(of);
      batched.push_back(of_step);
    };
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!roles.is_carry(i) && operands[i].type().is_array()) input(body.inputs()[i], operands[i], roles.is_xs(i));
    for (const auto& [v, stack] : stacks) input(v, stack, true);
    for (const Eqn& eqn : body.eqns())
      if (eqns.contains(&eqn)) step.bind_eqn(eqn);
    Arrays outputs;
    for (const Var v : wanted) outputs.push_back(step.get(v));
    one = scope.finish(outputs, body.name() + "_maps");
  }
  const ProgramRef all = vmap(one.program, batched, Mask(wanted.size(), true), *p.length);
  std::vector<Dim> sizes = one.sizes;
  if (!p.length->known()) sizes.push_back(*p.length);
  return inline_program(*all, sizes, given);
}
Arrays with_maps(const LoopParams& p, const Going& going, const Arrays& operands) {
  const Arrays made = of_all_steps(p, {going.eqns.begin(), going.eqns.end()}, going.given, operands, {});
  return without(p, operands, going, [&](LoopEdit& edit, std::size_t i) { return edit.add_xs(made[i]); });
}

// --- behind the loop ---

// Results that a step makes, by products with matrices that are the same in all steps and by elementwise ops, and that
// it only stacks. They are made of `stacked`, values of the step, and of what it reads.
struct LateMaps {
  std::vector<std::size_t> results;
  std::set<Var> stacked;
  std::set<const Eqn*> eqns, gone;  // that make them; of these, those that the step has no more
  bool empty() const { return results.empty(); }
};

class LateMapSearch {
 public:
  explicit LateMapSearch(const LoopParams& p)
      : p_(p),
        roles_(p),
        body_(*p.body),
        makers_(makers_of(body_)),
        reads_(reads_of(body_)),
        of_step_(body_.vars(), true),
        of_state_(body_.vars(), true) {
    for (std::size_t i = 0; i < roles_.operands(); ++i) {
      of_step_[body_.inputs()[i]] = !roles_.is_const(i);
      of_state_[body_.inputs()[i]] = roles_.is_carry(i) || !body_.type(body_.inputs()[i]).is_array();
    }
    for (const Eqn& eqn : body_.eqns()) {
      const bool moves = effect_of(eqn) == Effect::none && eqn.new_sizes.empty();
      const auto any = [&](const std::vector<bool>& of) {
        return !moves || std::ranges::any_of(eqn.in, [&](Var v) { return of[v]; });
      };
      for (const Var v : eqn.out) of_step_[v] = any(of_step_), of_state_[v] = any(of_state_);
    }
  }

  LateMaps found() const {
    LateMaps all;
    std::vector<Var> open;  // of which the makers are to be found
    if (p_.cond || p_.lanes || !p_.length || *p_.length == Dim(0)) return all;
    for (std::size_t i = roles_.carries; i < roles_.results(); ++i) {
      LateMaps one;
      const Var v = body_.outputs()[i];
      std::vector<Var> read;  // beside the state
      if (!collect(v, one, read) || one.stacked.empty()) continue;
      double elements = 0;
      for (const Var u : one.stacked) elements += estimated_elements(body_.type(u));
      if (elements > widened_at_most * estimated_elements(body_.type(v))) continue;
      all.results.push_back(i);
      all.stacked.merge(one.stacked);
      all.gone.merge(one.gone);
      open.insert(open.end(), read.begin(), read.end());
    }
    all.eqns = all.gone;
    while (!open.empty()) {
      const Eqn* made = makers_[open.back()];
      open.pop_back();
      if (made != nullptr && all.eqns.insert(made).second) open.insert(open.end(), made->in.begin(), made->in.end());
    }
    return all;
  }

 private:
  // Notes what makes a result of the state, and what that reads beside it; false where something else of the state
  // takes part, or others read it. So no two results share an eqn, and all walks together are linear.
  bool collect(Var result, LateMaps& maps, std::vector<Var>& read) const {
    std::vector<Var> open{result};
    while (!open.empty()) {
      const Var v = open.back();
      open.pop_back();
      if (!of_state_[v]) {
        read.push_back(v);
        continue;
      }
      const Eqn* made = makers_[v];
      if (made == nullptr || reads_[v] != 1) return false;
      const bool product = pays_for_all_steps(body_, *made, of_step_);
      if (!product && !is_elementwise(*made)) return false;
      maps.gone.insert(made);
      for (const Var x : made->in) {
        if (product && of_step_[x])
          maps.stacked.insert(x);
        else
          open.push_back(x);
      }
    }
    return true;
  }

  const LoopParams& p_;
  const LoopRoles roles_;
  const Program& body_;
  const std::vector<const Eqn*> makers_;
  const std::vector<int> reads_;
  std::vector<bool> of_step_, of_state_;  // what depends on the number of the step; on what the loop carries
};

LateMaps late_maps_of(const Eqn&, const LoopParams& p) { return LateMapSearch(p).found(); }
Arrays with_late_maps(const LoopParams& p, const LateMaps& maps, const Arrays& operands) {
  std::vector<Var> results;
  for (const std::size_t i : maps.results) results.push_back(p.body->outputs()[i]);
  LoopEdit edit(p, operands);
  for (const std::size_t i : maps.results) edit.drop_result(i);
  LoopEdit::Built built = edit.build([&](LoopEdit::Step& step) {
    for (const Eqn& eqn : p.body->eqns())
      if (!maps.gone.contains(&eqn)) step.old.bind_eqn(eqn);
    for (const Var v : maps.stacked) step.stack(step.old.get(v));
  });
  std::map<Var, Array> stacks;
  std::size_t next = 0;
  for (const Var v : maps.stacked) stacks.emplace(v, built.stacks[next++]);
  const Arrays made = of_all_steps(p, maps.eqns, results, operands, stacks);
  for (std::size_t k = 0; k < made.size(); ++k) built.results[maps.results[k]] = made[k];
  return built.results;
}

// A pass that takes something out of all loops; `memo` is its own.
template <class Of, class With>
ProgramRef in_loops(Memo<ProgramRef>& memo, const ProgramRef& program, ProgramRef pass(const ProgramRef&), Of of,
                    With with) {
  if (!has_loops(*program)) return program;
  return memo.get(program->hash(), [&] { return with_loops(program, pass, of, with); });
}

}  // namespace

ProgramRef hoist_matrices(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return in_loops(memo, program, hoist_matrices, matrices_of, with_invariants);
}
ProgramRef hoist_invariants(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return in_loops(memo, program, hoist_invariants, invariants_of, with_invariants);
}
ProgramRef hoist_maps(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return in_loops(memo, program, hoist_maps, maps_of, with_maps);
}
ProgramRef delay_maps(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return in_loops(memo, program, delay_maps, late_maps_of, with_late_maps);
}

}  // namespace tenon
