#include "tenon/rewrite/guard_selects.h"

#include <algorithm>
#include <map>

#include "tenon/ir/replay.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

// A select that becomes updates.
struct Guarded {
  Var condition;                 // bool[]
  bool holds;                    // what it must be for the updates to write
  Var from;                      // the array that is updated
  std::vector<const Eqn*> eqns;  // the updates, and what only they read of what lies between them, in order
};

class Search {
 public:
  explicit Search(const Program& program)
      : program_(program), maker_(makers_of(program)), is_output_(program.vars(), false) {
    for (Var v : program.outputs()) is_output_[v] = true;
  }

  std::vector<std::pair<const Eqn*, Guarded>> all() const {
    std::vector<std::pair<const Eqn*, Guarded>> found;
    for (const Eqn& eqn : program_.eqns()) {
      if (eqn.op != &select_op()) continue;
      const Eqn* spread = maker_[eqn.in[0]];
      if (spread == nullptr || spread->op != &broadcast_op() || program_.type(spread->in[0]).rank() != 0) continue;
      for (const bool holds : {true, false}) {
        const Var from = holds ? eqn.in[2] : eqn.in[1];
        auto eqns = between(from, holds ? eqn.in[1] : eqn.in[2], eqn);
        if (eqns.empty()) continue;
        found.emplace_back(&eqn, Guarded{spread->in[0], holds, from, std::move(eqns)});
        break;
      }
    }
    return found;
  }

 private:
  // The updates that make `to` of `from`, and what reads what they give, where that is read by nothing but them and
  // the select; else none.
  std::vector<const Eqn*> between(Var from, Var to, const Eqn& select) const {
    std::vector<bool> inside(program_.vars(), false);
    std::vector<const Eqn*> updates;
    while (to != from) {
      const Eqn* made = maker_[to];
      if (made == nullptr || !is_update(*made->op)) return {};
      inside[to] = true;
      updates.push_back(made);
      to = made->in[0];
    }
    if (updates.empty()) return {};
    std::vector<const Eqn*> eqns;
    for (const Eqn* eqn = updates.back(); eqn != program_.eqns().data() + program_.eqns().size(); ++eqn) {
      const bool reads = std::ranges::any_of(eqn->in, [&](Var v) { return inside[v]; });
      if (std::ranges::find(updates, eqn) != updates.end()) {
        eqns.push_back(eqn);
      } else if (reads && eqn != &select) {
        if (eqn > &select || effect_of(*eqn) != Effect::none || !eqn->new_sizes.empty()) return {};
        for (Var v : eqn->out) inside[v] = true;
        eqns.push_back(eqn);
      }
      for (Var v : eqn->out)
        if (inside[v] && is_output_[v]) return {};
    }
    const Var last = updates.front()->out[0];
    const bool only_last = std::ranges::none_of(select.in, [&](Var v) { return inside[v] && v != last; });
    return only_last ? eqns : std::vector<const Eqn*>();
  }

  const Program& program_;
  std::vector<const Eqn*> maker_;
  std::vector<bool> is_output_;
};

void bind_guarded(const Eqn& select, const Guarded& guarded, Replay& replay) {
  const Array condition = replay.get(guarded.condition);
  const Array running = guarded.holds ? condition : !condition;
  Var last = guarded.from;
  for (const Eqn* eqn : guarded.eqns) {
    if (!is_update(*eqn->op) || eqn->in[0] != last) {
      replay.bind_eqn(*eqn);
      continue;
    }
    const EqnScope place(*eqn);
    last = eqn->out[0];
    replay.set(last, guarded_update(*eqn->op, replay.params(*eqn), replay.operands(*eqn), running));
  }
  replay.set(select.out[0], replay.get(last));
}

}  // namespace

ProgramRef guard_selects(const ProgramRef& program) {
  if (std::ranges::none_of(program->eqns(), [](const Eqn& eqn) { return eqn.op == &select_op(); })) return program;
  const auto guarded = Search(*program).all();
  if (guarded.empty()) return program;
  std::map<const Eqn*, const Guarded*> at;  // of a select; nullptr of what is bound there
  for (const auto& [select, whole] : guarded) {
    const bool taken = std::ranges::any_of(whole.eqns, [&](const Eqn* eqn) { return at.contains(eqn); });
    if (taken) continue;  // a select between updates of another: of both the first is done
    at.emplace(select, &whole);
    for (const Eqn* eqn : whole.eqns) at.emplace(eqn, nullptr);
  }
  return rewritten(*program, [&](Replay& replay) {
    for (const Eqn& eqn : program->eqns()) {
      const auto found = at.find(&eqn);
      if (found == at.end())
        replay.bind_eqn(eqn);
      else if (found->second != nullptr)
        bind_guarded(eqn, *found->second, replay);
    }
  });
}

}  // namespace tenon
