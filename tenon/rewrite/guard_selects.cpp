#include "tenon/rewrite/guard_selects.h"

#include <algorithm>
#include <map>

#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/structure.h"

namespace tenon {
namespace {

// A select that becomes updates.
struct Guarded {
  Var condition;                    // bool[]
  bool holds;                       // what it must be for the updates to write
  std::vector<const Eqn*> updates;  // in order
};

class Search {
 public:
  explicit Search(const Program& program)
      : program_(program), maker_(program.vars(), nullptr), uses_(program.vars(), 0) {
    for (const Eqn& eqn : program.eqns()) {
      for (Var v : eqn.out) maker_[v] = &eqn;
      for (Var v : eqn.in) ++uses_[v];
    }
    for (Var v : program.outputs()) ++uses_[v];
  }

  std::map<const Eqn*, Guarded> all() const {
    std::map<const Eqn*, Guarded> found;
    for (const Eqn& eqn : program_.eqns()) {
      if (eqn.op != &select_op()) continue;
      const Eqn* spread = maker_[eqn.in[0]];
      if (spread == nullptr || spread->op != &broadcast_op() || program_.type(spread->in[0]).rank() != 0) continue;
      for (const bool holds : {true, false}) {
        auto updates = updates_between(holds ? eqn.in[2] : eqn.in[1], holds ? eqn.in[1] : eqn.in[2]);
        if (updates.empty()) continue;
        found.emplace(&eqn, Guarded{spread->in[0], holds, std::move(updates)});
        break;
      }
    }
    return found;
  }

 private:
  // The updates that make `to` of `from`, where nothing but them and the select reads what they give; else none.
  std::vector<const Eqn*> updates_between(Var from, Var to) const {
    std::vector<const Eqn*> updates;
    for (; to != from; to = updates.back()->in[0]) {
      const Eqn* made = maker_[to];
      if (made == nullptr || !is_update(*made->op) || uses_[to] != 1) return {};
      updates.push_back(made);
    }
    std::ranges::reverse(updates);
    return updates;
  }

  const Program& program_;
  std::vector<const Eqn*> maker_;
  std::vector<int> uses_;
};

void bind_guarded(const Eqn& select, const Guarded& guarded, Replay& replay) {
  const Array condition = replay.get(guarded.condition);
  const Array running = guarded.holds ? condition : !condition;
  Array x = replay.get(guarded.updates[0]->in[0]);
  for (const Eqn* update : guarded.updates) {
    const EqnScope place(*update);
    Arrays operands = replay.operands(*update);
    operands[0] = x;
    const auto bind = is_scatter(*update->op) ? guarded_scatter : guarded_update_slice;
    x = bind(replay.params(*update), std::move(operands), running);
  }
  replay.set(select.out[0], x);
}

}  // namespace

ProgramRef guard_selects(const ProgramRef& program) {
  const auto guarded = Search(*program).all();
  if (guarded.empty()) return program;
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(*program);
  Replay replay(*program, sizes);
  for (Var v : program->inputs()) replay.set(v, scope.input(replay.type(v)));
  for (const Eqn& eqn : program->eqns()) {
    if (const auto found = guarded.find(&eqn); found != guarded.end())
      bind_guarded(eqn, found->second, replay);
    else
      replay.bind_eqn(eqn);
  }
  Arrays outputs;
  for (Var v : program->outputs()) outputs.push_back(replay.get(v));
  return scope.finish(outputs, program->name()).program;
}

}  // namespace tenon
