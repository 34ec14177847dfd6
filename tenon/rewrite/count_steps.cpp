#include "tenon/rewrite/count_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

class Counter {
 public:
  explicit Counter(const Program& program)
      : program_(program), maker_(makers_of(program)), is_made_(program.vars(), false) {
    for (const Eqn& eqn : program.eqns())
      if (is_count(eqn) || repeats_a_number(eqn) ||
          (is_elementwise(eqn) && !eqn.in.empty() && std::ranges::all_of(eqn.in, [&](Var x) { return is_made_[x]; })))
        is_made_[eqn.out[0]] = program.type(eqn.out[0]).rank() == 1;
  }

  // Operands of a loop that are made of the numbers of its steps.
  std::vector<std::size_t> counted(const Eqn& eqn) const {
    std::vector<std::size_t> xs;
    const auto& p = eqn.params.as<LoopParams>();
    if (p.cond || p.lanes || !p.length || !p.length->known()) return xs;
    for (std::size_t i = LoopRoles(p).consts + LoopRoles(p).carries; i < eqn.in.size(); ++i)
      if (is_made_[eqn.in[i]]) xs.push_back(i);
    return xs;
  }

  Arrays bind(const Eqn& eqn, const LoopParams& p, const std::vector<std::size_t>& xs, const Replay& replay) const {
    LoopEdit edit(p, replay.operands(eqn));
    for (const std::size_t i : xs) edit.drop(i);
    const std::set<Var> made = all_made(eqn, xs);
    std::map<Var, LoopEdit::Added> outside;  // the single numbers, which become constants of the loop
    for (const Var v : made)
      if (repeats_a_number(*maker_[v]) && !outside.contains(maker_[v]->in[0]))
        outside.emplace(maker_[v]->in[0], edit.add_const(replay.get(maker_[v]->in[0])));
    const auto count = edit.add_carry(Array(p.reverse ? p.length->value() - 1 : std::int64_t(0)));
    const auto write = [&](LoopEdit::Step& step) {
      std::map<Var, Array> values;
      for (const auto& [v, added] : outside) values.emplace(v, step.at(added));
      for (const Var v : made) values.insert_or_assign(v, at_step(v, step.at(count), values));
      for (const std::size_t i : xs) step.old.set(p.body->inputs()[i], values.at(eqn.in[i]));
      for (const Eqn& old : p.body->eqns()) step.old.bind_eqn(old, count_steps);
      step.carry_on(count, step.at(count) + (p.reverse ? std::int64_t(-1) : std::int64_t(1)));
    };
    return edit.build(write).results;
  }

 private:
  bool is_count(const Eqn& eqn) const { return counted_axis(eqn) && program_.type(eqn.out[0]).rank() == 1; }
  bool repeats_a_number(const Eqn& eqn) const {
    return eqn.op == &broadcast_op() && program_.type(eqn.in[0]).rank() == 0;
  }
  // The operands and what they are made of, each behind what it is made of.
  std::set<Var> all_made(const Eqn& loop, const std::vector<std::size_t>& xs) const {
    std::set<Var> found;
    std::vector<Var> open;
    for (const std::size_t i : xs) open.push_back(loop.in[i]);
    while (!open.empty()) {
      const Var v = open.back();
      open.pop_back();
      if (!found.insert(v).second || repeats_a_number(*maker_[v])) continue;
      open.insert(open.end(), maker_[v]->in.begin(), maker_[v]->in.end());
    }
    return found;
  }

  // An element at the number of the step, by the eqn that makes all of them.
  Array at_step(Var v, const Array& step, const std::map<Var, Array>& made) const {
    const Eqn& eqn = *maker_[v];
    const EqnScope place(eqn);
    if (is_count(eqn)) return convert(step, program_.type(v).dtype);
    if (repeats_a_number(eqn)) return made.at(eqn.in[0]);
    Arrays operands;
    for (const Var x : eqn.in) operands.push_back(made.at(x));
    return bind_op(*eqn.op, eqn.params, operands)[0];
  }

  const Program& program_;
  std::vector<const Eqn*> maker_;
  std::vector<bool> is_made_;
};

}  // namespace

ProgramRef count_steps(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("count_steps")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      const Counter counter(*program);
      for (const Eqn& eqn : program->eqns()) {
        const auto xs = eqn.op == &loop_op() ? counter.counted(eqn) : std::vector<std::size_t>();
        if (xs.empty()) {
          replay.bind_eqn(eqn, count_steps);
          continue;
        }
        const EqnScope place(eqn);
        const Params params = replay.params(eqn);
        replay.set_results(eqn, counter.bind(eqn, params.as<LoopParams>(), xs, replay));
      }
    });
  });
}

}  // namespace tenon
