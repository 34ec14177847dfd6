#include "tenon/rewrite/count_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/loop_roles.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
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
    const LoopRoles roles(p);
    const std::set<Var> made = all_made(eqn, xs);
    std::map<Var, Array> outside;  // the single numbers, which become constants of the loop
    for (const Var v : made)
      if (repeats_a_number(*maker_[v])) outside.emplace(maker_[v]->in[0], replay.get(maker_[v]->in[0]));
    const Arrays operands = replay.operands(eqn);
    Arrays in(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(roles.consts));
    for (const auto& [v, number] : outside) in.push_back(number);
    for (std::size_t i = roles.consts; i < operands.size(); ++i) {
      if (i == roles.consts + roles.carries) in.emplace_back(p.reverse ? p.length->value() - 1 : std::int64_t(0));
      if (std::ranges::count(xs, i) == 0) in.push_back(operands[i]);
    }
    LoopParams q = p;
    q.consts += static_cast<std::int64_t>(outside.size());
    q.carries += 1;
    q.body = body_of(eqn, p, xs, made, outside);
    Arrays out = loop(std::move(q), in);
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(roles.carries));
    return out;
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

  ProgramRef body_of(const Eqn& loop, const LoopParams& p, const std::vector<std::size_t>& xs, const std::set<Var>& all,
                     const std::map<Var, Array>& outside) const {
    const Program& old = *p.body;
    const LoopRoles roles(p);
    Scope scope;
    Replay replay(old, scope.size_params_of(old));
    const auto input = [&](std::size_t i) { replay.set(old.inputs()[i], scope.input(replay.type(old.inputs()[i]))); };
    std::map<Var, Array> made;
    for (std::size_t i = 0; i < roles.consts; ++i) input(i);
    for (const auto& [v, number] : outside) made.emplace(v, scope.input(program_.type(v)));
    for (std::size_t i = roles.consts; i < roles.consts + roles.carries; ++i) input(i);
    const Array step = scope.input(Type::array(DType::i64, {}));
    for (std::size_t i = roles.consts + roles.carries; i < old.inputs().size(); ++i)
      if (std::ranges::count(xs, i) == 0) input(i);
    for (const Var v : all) made.insert_or_assign(v, at_step(v, step, made));
    for (const std::size_t i : xs) replay.set(old.inputs()[i], made.at(loop.in[i]));
    for (const Eqn& eqn : old.eqns()) replay.bind_eqn(eqn, count_steps);
    Arrays out;
    for (const Var v : old.outputs()) out.push_back(replay.get(v));
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(roles.carries),
               step + (p.reverse ? std::int64_t(-1) : std::int64_t(1)));
    return scope.finish(out, old.name()).program;
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
