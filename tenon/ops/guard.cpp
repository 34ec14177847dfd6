#include "tenon/ops/guard.h"

#include <algorithm>
#include <map>

#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/callee.h"
#include "tenon/ops/host.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/list_elements.h"
#include "tenon/ops/loop_roles.h"
#include "tenon/ops/structure.h"

namespace tenon {
namespace {

using Origins = std::vector<std::optional<std::size_t>>;

// What is asked of each Program once, however often it is called.
class Guard {
 public:
  const Origins& origins(const ProgramRef& program) {
    const auto found = origins_.find(program);
    return found != origins_.end() ? found->second : origins_.emplace(program, find_origins(*program)).first->second;
  }
  Origins origins(std::span<const ProgramRef> branches) {
    Origins common = origins(branches[0]);
    for (const ProgramRef& branch : branches.subspan(1)) {
      const Origins& own = origins(branch);
      for (std::size_t i = 0; i < common.size(); ++i)
        if (common[i] != own[i]) common[i].reset();
    }
    return common;
  }

  // Whether anything inside has to know where it runs: a loop with a condition, a function of the user's.
  bool may_run_on(const ProgramRef& program) {
    const auto found = may_run_on_.find(program);
    if (found != may_run_on_.end()) return found->second;
    const bool may = std::ranges::any_of(program->eqns(), [&](const Eqn& eqn) { return may_run_on(eqn); });
    return may_run_on_.emplace(program, may).first->second;
  }
  bool may_run_on(const Eqn& eqn) {
    bool may = is_host_call(*eqn.op) || (eqn.op == &loop_op() && eqn.params.as<LoopParams>().cond);
    eqn.params.visit_programs([&](const ProgramRef& inside) { may = may || (inside && may_run_on(inside)); });
    return may;
  }

  // `running` is input `at`.
  ProgramRef operator()(const Program& program, const Mask& kept, std::size_t at) {
    Scope scope;
    const std::vector<Dim> sizes = scope.size_params_of(program);
    Replay replay(program, sizes);
    Array running;
    for (std::size_t i = 0; i <= program.inputs().size(); ++i) {
      if (i == at) running = scope.input(Type::array(DType::bool_, {}));
      if (i < program.inputs().size()) replay.set(program.inputs()[i], scope.input(replay.type(program.inputs()[i])));
    }
    const std::vector<bool> wanted = wanted_of(program, kept);
    for (const Eqn& eqn : program.eqns()) {
      Mask out;
      for (Var v : eqn.out) out.push_back(wanted[v]);
      const EqnScope place(eqn);
      const auto results = bound(eqn, replay, out, running);
      if (results)
        replay.set_results(eqn, *results);
      else
        replay.bind_eqn(eqn);
    }
    Arrays outputs;
    for (Var v : program.outputs()) outputs.push_back(replay.get(v));
    return scope.finish(outputs, program.name() + "_guarded").program;
  }

 private:
  // Of each result of an eqn: the operand that it is where the eqn does not act.
  Origins passed(const Eqn& eqn) {
    Origins from(eqn.out.size());
    if (is_update(*eqn.op) || is_list_update(*eqn.op)) {
      from[0] = 0;
    } else if (eqn.op == &loop_op()) {
      const auto& p = eqn.params.as<LoopParams>();
      const LoopRoles roles(p);
      for (std::size_t c = 0; c < roles.carries; ++c)
        if (p.cond || origins(p.body)[c] == roles.consts + c) from[c] = roles.consts + c;
    } else if (eqn.op == &cond_op()) {
      from = origins(std::span(eqn.params.as<CondParams>().branches));
      for (auto& operand : from)
        if (operand) ++*operand;  // behind the index
    } else if (is_call(*eqn.op)) {
      from = origins(eqn.params.as<CallParams>().program);
    }
    return from;
  }

  Origins find_origins(const Program& program) {
    Origins of(program.vars());
    for (std::size_t i = 0; i < program.inputs().size(); ++i) of[program.inputs()[i]] = i;
    for (const Eqn& eqn : program.eqns()) {
      const Origins from = passed(eqn);
      for (std::size_t i = 0; i < eqn.out.size(); ++i)
        if (from[i]) of[eqn.out[i]] = of[eqn.in[*from[i]]];
    }
    Origins outputs;
    for (Var v : program.outputs()) outputs.push_back(of[v]);
    return outputs;
  }

  // Variables on the way from the outputs of a mask to their origins.
  std::vector<bool> wanted_of(const Program& program, const Mask& kept) {
    std::vector<bool> wanted(program.vars(), false);
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i]) wanted[program.outputs()[i]] = true;
    for (std::size_t e = program.eqns().size(); e-- > 0;) {
      const Eqn& eqn = program.eqns()[e];
      const Origins from = passed(eqn);
      for (std::size_t i = 0; i < eqn.out.size(); ++i)
        if (wanted[eqn.out[i]] && from[i]) wanted[eqn.in[*from[i]]] = true;
    }
    return wanted;
  }

  // The results of an eqn that has to know whether it runs; nothing: it is bound as it is.
  std::optional<Arrays> bound(const Eqn& eqn, const Replay& replay, const Mask& kept, const Array& running) {
    const bool any_kept = std::ranges::find(kept, true) != kept.end();
    Arrays operands = replay.operands(eqn);
    const Params params = replay.params(eqn);
    if (is_update(*eqn.op)) {
      if (!any_kept) return std::nullopt;
      return Arrays{guarded_update(*eqn.op, params, std::move(operands), running)};
    }
    if (is_list_update(*eqn.op)) {
      if (!any_kept) return std::nullopt;
      operands[1] = where(running, operands[1], Array(Scalar(std::int64_t(-1))));  // nowhere
      return bind_op(*eqn.op, params, operands);
    }
    if (!any_kept && !may_run_on(eqn)) return std::nullopt;
    if (!eqn.op->guard) return std::nullopt;
    const auto guarded = [&](const Mask& outputs) {
      return [&, outputs](const ProgramRef& program, std::size_t at) {
        Mask mask = outputs;
        mask.resize(program->outputs().size(), false);
        return (*this)(*program, mask, at);
      };
    };
    const auto [with, at] = (*eqn.op->guard)({params, guarded(kept), guarded({}), only_where_running});
    operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(at), running);
    return bind_op(*eqn.op, with, operands);
  }

  static ProgramRef only_where_running(const ProgramRef& cond) {
    Scope scope;
    const std::vector<Dim> sizes = scope.size_params_of(*cond);
    const Array running = scope.input(Type::array(DType::bool_, {}));
    const Replay types(*cond, sizes);
    Arrays inputs;
    for (Var v : cond->inputs()) inputs.push_back(scope.input(types.type(v)));
    return scope.finish(Arrays{running & inline_program(*cond, sizes, inputs)[0]}, cond->name()).program;
  }

  // By Programs that live as long as this does: those inside of params may be made anew, where others were.
  std::map<ProgramRef, Origins> origins_;
  std::map<ProgramRef, bool> may_run_on_;
};

}  // namespace

Origins origins(const ProgramRef& program) { return Guard().origins(program); }
Origins origins(std::span<const ProgramRef> branches) { return Guard().origins(branches); }

ProgramRef guard(const ProgramRef& program, const std::vector<bool>& kept) { return Guard()(*program, kept, 0); }

}  // namespace tenon
