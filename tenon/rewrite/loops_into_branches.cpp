#include "tenon/rewrite/loops_into_branches.h"

#include <algorithm>
#include <map>

#include "tenon/ir/replay.h"
#include "tenon/ops/control/region.h"
#include "tenon/rewrite/hoist_search.h"

namespace tenon {
namespace {

// A loop and the cond that alone reads it, as it is or transposed or reshaped.
struct Pair {
  const Eqn *loop, *cond = nullptr;
  std::vector<const Eqn*> views = {};  // between them, in order
  bool makes(Var v) const {
    return std::ranges::count(loop->out, v) > 0 ||
           std::ranges::any_of(views, [&](const Eqn* view) { return view->out[0] == v; });
  }
};

// The operands of the new cond behind its index: those of the old one that are not the loop's, and then the loop's.
std::vector<Var> operands_of(const Pair& pair) {
  std::vector<Var> vars;
  for (std::size_t i = 1; i < pair.cond->in.size(); ++i)
    if (!pair.makes(pair.cond->in[i])) vars.push_back(pair.cond->in[i]);
  vars.insert(vars.end(), pair.loop->in.begin(), pair.loop->in.end());
  return vars;
}

// A branch that runs the loop first.
ProgramRef with_loop(const Program& program, const Pair& pair, const Program& branch) {
  const CompileTime no_trace;
  Scope scope;
  Arrays inputs;
  for (Var v : operands_of(pair)) inputs.push_back(scope.input(program.type(v)));
  const std::span<const Array> all(inputs);
  const std::size_t own = inputs.size() - pair.loop->in.size();
  std::map<Var, Array> made;
  const auto make = [&](const Eqn& eqn, std::span<const Array> operands) {
    const EqnScope place(eqn);
    const Arrays results = bind_op(*eqn.op, eqn.params, operands);
    for (std::size_t i = 0; i < eqn.out.size(); ++i) made.emplace(eqn.out[i], results[i]);
  };
  make(*pair.loop, all.subspan(own));
  for (const Eqn* view : pair.views) make(*view, Arrays{made.at(view->in[0])});
  Arrays operands;
  std::size_t next = 0;
  for (std::size_t i = 1; i < pair.cond->in.size(); ++i) {
    const Var v = pair.cond->in[i];
    operands.push_back(pair.makes(v) ? made.at(v) : all[next++]);
  }
  return scope.finish(inline_program(branch, {}, operands), branch.name()).program;
}

bool are_known(const Program& program, const std::vector<Var>& vars) {
  return std::ranges::all_of(vars, [&](Var v) { return program.type(v).is_array() && program.type(v).shape.known(); });
}

// The first loop of which all that is read is read by one cond, of known sizes.
std::optional<Pair> next_pair(const Program& program, std::size_t& at, const std::vector<const Eqn*>& only_reader) {
  for (; at < program.eqns().size(); ++at) {
    const Eqn& eqn = program.eqns()[at];
    if (eqn.op != &loop_op() || effect_of(eqn) != Effect::none || !are_known(program, eqn.in) ||
        !are_known(program, eqn.out))
      continue;
    const auto& p = eqn.params.as<LoopParams>();
    if (p.cond || !p.body_sizes.empty()) continue;
    Pair pair{&eqn};
    bool alone = true;
    for (Var v : eqn.out) {
      const Eqn* reader = only_reader[v];
      for (; reader != nullptr && (reader->op == &transpose_op() || reader->op == &reshape_op());
           reader = only_reader[v]) {
        pair.views.push_back(reader);
        v = reader->out[0];
      }
      if (reader == nullptr) continue;  // nobody reads it
      alone = alone && reader->op == &cond_op() && (pair.cond == nullptr || pair.cond == reader) && reader->in[0] != v;
      pair.cond = reader;
    }
    if (!alone || pair.cond == nullptr || !are_known(program, pair.cond->in)) continue;
    const auto& branches = pair.cond->params.as<CondParams>();
    if (std::ranges::any_of(branches.sizes, [](const auto& sizes) { return !sizes.empty(); })) continue;
    return pair;
  }
  return {};
}

// Of each variable the eqn that reads it, where that is one; `several` where it has more readers.
std::vector<const Eqn*> only_readers(const Program& program, const Eqn& several) {
  std::vector<const Eqn*> readers(program.vars(), nullptr);
  for (const Eqn& eqn : program.eqns())
    for (Var v : eqn.in) readers[v] = readers[v] == nullptr || readers[v] == &eqn ? &eqn : &several;
  for (Var v : program.outputs()) readers[v] = &several;
  return readers;
}

}  // namespace

ProgramRef move_loop_into_branches(const Program& program) {
  if (std::ranges::none_of(program.eqns(), [](const Eqn& eqn) { return eqn.op == &cond_op(); })) return nullptr;
  const Eqn several;
  const std::vector<const Eqn*> readers = only_readers(program, several);
  std::size_t at = 0;
  for (auto pair = next_pair(program, at, readers); pair; pair = next_pair(program, ++at, readers)) {
    CondParams moved = pair->cond->params.as<CondParams>();
    bool reduces = false;
    for (ProgramRef& branch : moved.branches) {
      const bool before = !find_hoists(*branch).empty();
      branch = with_loop(program, *pair, *branch);
      reduces = reduces || (!before && !find_hoists(*branch).empty());
    }
    if (!reduces) continue;
    return rewritten(program, [&](Replay& replay) {
      for (const Eqn& eqn : program.eqns()) {
        if (&eqn == pair->loop || std::ranges::count(pair->views, &eqn) > 0) continue;
        if (&eqn != pair->cond) {
          replay.bind_eqn(eqn);
          continue;
        }
        const EqnScope place(eqn);
        Arrays operands;
        for (Var v : operands_of(*pair)) operands.push_back(replay.get(v));
        replay.set_results(eqn, cond(moved, replay.get(eqn.in[0]), operands));
      }
    });
  }
  return nullptr;
}

}  // namespace tenon
