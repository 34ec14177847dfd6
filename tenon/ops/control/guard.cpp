#include "tenon/ops/control/guard.h"

#include <algorithm>
#include <map>

#include "tenon/ir/replay.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/host.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/lists/list_elements.h"
#include "tenon/ops/structure/structure.h"

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
  bool may_run_on(const Eqn& eqn) { return inside(eqn).may_run_on; }

  // `running` is input `at`. Inputs of the mask `shared` are the same wherever the Program runs.
  ProgramRef operator()(const Program& program, const Mask& kept, std::size_t at, const Mask& shared = {}) {
    Scope scope;
    const std::vector<Dim> sizes = scope.size_params_of(program);
    Replay replay(program, sizes);
    Array running;
    for (std::size_t i = 0; i <= program.inputs().size(); ++i) {
      if (i == at) running = scope.input(Type::array(DType::bool_, {}));
      if (i < program.inputs().size()) replay.set(program.inputs()[i], scope.input(replay.type(program.inputs()[i])));
    }
    const std::vector<bool> wanted = wanted_of(program, kept);
    Flow flow(program, shared);
    for (const Eqn& eqn : program.eqns()) {
      Mask out;
      for (Var v : eqn.out) out.push_back(wanted[v]);
      const EqnScope place(eqn);
      replay.set_results(eqn, bound(eqn, replay, flow, out, running));
    }
    Arrays outputs;
    for (Var v : program.outputs()) outputs.push_back(replay.get(v));
    return scope.finish(outputs, program.name() + "_guarded").program;
  }

 private:
  // Through which variables derivatives still flow where nothing runs. Reads at other indices leave them so: a table of
  // which a few elements are read has a cotangent of these alone. An eqn that computes is bound with operands through
  // which derivatives flow only where it runs: a cotangent of 0 times an infinite derivative is NaN. But what is shared
  // by all lanes would then be there once a lane; an eqn that is not elementwise reads it as it is, and its result is
  // stopped where it is read.
  struct Flow {
    Flow(const Program& p, const Mask& shared_in)
        : program(p), open(p.vars(), false), shared(p.vars(), false), stopped(p.vars()) {
      for (std::size_t i = 0; i < p.inputs().size(); ++i) {
        open[p.inputs()[i]] = has_derivative(p.inputs()[i]);
        shared[p.inputs()[i]] = i < shared_in.size() && shared_in[i];
      }
    }
    bool has_derivative(Var v) const {
      const Type& t = program.type(v);
      return t.is_array() && is_differentiable(t.dtype);
    }
    // The operands of an eqn that computes from them; notes what holds of its results.
    Arrays operands(const Eqn& eqn, const Replay& replay, const Array& running) {
      const bool all_shared = is_shared(eqn), stops_shared = is_elementwise(eqn) && !all_shared;
      bool stays_open = false;
      Arrays arrays = replay.operands(eqn);
      for (std::size_t i = 0; i < eqn.in.size(); ++i) {
        const Var v = eqn.in[i];
        if (!open[v]) continue;
        if (shared[v] && !stops_shared) {
          stays_open = true;
          continue;
        }
        if (!stopped[v]) stopped[v] = stop_unless(running, arrays[i]);
        arrays[i] = *stopped[v];
      }
      results(eqn, stays_open, all_shared);
      return arrays;
    }
    void results(const Eqn& eqn, bool are_open, bool are_shared) {
      for (Var v : eqn.out) {
        open[v] = are_open && has_derivative(v);
        shared[v] = are_shared;
      }
    }
    bool is_shared(const Eqn& eqn) const {
      return std::ranges::all_of(eqn.in, [&](Var v) { return bool(shared[v]); });
    }
    bool any_open(const Eqn& eqn) const {
      return std::ranges::any_of(eqn.in, [&](Var v) { return bool(open[v]); });
    }

    const Program& program;
    std::vector<bool> open, shared;
    std::vector<MaybeArray> stopped;  // of open variables that something has read
  };

  struct Inside {
    bool may_run_on = false, reads_at_indices = false;
    Inside& operator|=(const Inside& other) {
      may_run_on = may_run_on || other.may_run_on;
      reads_at_indices = reads_at_indices || other.reads_at_indices;
      return *this;
    }
  };
  Inside inside(const ProgramRef& program) {
    if (const auto found = inside_.find(program); found != inside_.end()) return found->second;
    Inside all;
    for (const Eqn& eqn : program->eqns()) all |= inside(eqn);
    return inside_.emplace(program, all).first->second;
  }
  // Of an eqn with the Programs in it.
  Inside inside(const Eqn& eqn) {
    Inside all{is_host_call(*eqn.op) || (eqn.op == &loop_op() && eqn.params.as<LoopParams>().cond),
               reads_at_indices(eqn)};
    eqn.params.visit_programs([&](const ProgramRef& within) {
      if (within) all |= inside(within);
    });
    return all;
  }
  // Whether nothing in a branch or callee has to know where it runs, once derivatives flow through the eqn's operands
  // only there: these are stopped before it, however deep what reads them lies. What is shared by all lanes is stopped
  // inside, and so is a table of which a few elements are read there.
  bool stops_before(const Eqn& eqn, const Flow& flow) {
    if (eqn.op != &cond_op() && !is_call(*eqn.op)) return false;
    if (std::ranges::any_of(eqn.in, [&](Var v) { return flow.open[v] && flow.shared[v]; })) return false;
    const Inside all = inside(eqn);
    return !all.may_run_on && !all.reads_at_indices;
  }

  static bool reads_at_indices(const Eqn& eqn) {
    const auto* element = rule_of<LowerElement>(*eqn.op);
    return element != nullptr && !element->elementwise && !element->identity;
  }

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

  // The results of an eqn: as it is, or as one that knows whether it runs.
  Arrays bound(const Eqn& eqn, const Replay& replay, Flow& flow, const Mask& kept, const Array& running) {
    const bool any_kept = std::ranges::find(kept, true) != kept.end();
    const Params params = replay.params(eqn);
    if (reads_at_indices(eqn)) {
      flow.results(eqn, flow.any_open(eqn), flow.is_shared(eqn));
      return bind_op(*eqn.op, params, replay.operands(eqn));
    }
    const bool is_array_update = is_update(*eqn.op);
    if (any_kept && (is_array_update || is_list_update(*eqn.op))) {
      const Array& target = replay.get(eqn.in[0]);
      const bool open = flow.open[eqn.in[0]];
      Arrays operands = flow.operands(eqn, replay, running);
      operands[0] = target;
      flow.results(eqn, open, false);
      if (is_array_update) return Arrays{guarded_update(*eqn.op, params, std::move(operands), running)};
      operands[1] = where(running, operands[1], Array(Scalar(std::int64_t(-1))));  // nowhere
      return bind_op(*eqn.op, params, operands);
    }
    if (!eqn.op->guard || !(any_kept || may_run_on(eqn) || flow.any_open(eqn)) ||
        (!any_kept && stops_before(eqn, flow)))
      return bind_op(*eqn.op, params, flow.operands(eqn, replay, running));
    const auto guarded = [&](const Mask& outputs) {
      return [&, outputs](const ProgramRef& program, std::size_t at) {
        Mask mask = outputs;
        mask.resize(program->outputs().size(), false);
        return (*this)(*program, mask, at, shared_in(eqn, flow));
      };
    };
    const auto [with, at] = (*eqn.op->guard)({params, guarded(kept), guarded({}), only_where_running});
    flow.results(eqn, true, false);
    Arrays operands = replay.operands(eqn);
    operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(at), running);
    return bind_op(*eqn.op, with, operands);
  }

  // Of the inputs of the Programs inside an eqn, where these are its operands: all but the carries of loops may be
  // shared.
  static Mask shared_in(const Eqn& eqn, const Flow& flow) {
    Mask shared;
    if (eqn.op != &loop_op() && eqn.op != &cond_op() && !is_call(*eqn.op)) return shared;
    for (Var v : eqn.in) shared.push_back(flow.shared[v]);
    if (eqn.op == &cond_op()) shared.erase(shared.begin());
    if (eqn.op == &loop_op()) {
      const LoopRoles roles(eqn.params.as<LoopParams>());
      std::fill_n(shared.begin() + static_cast<std::ptrdiff_t>(roles.consts), roles.carries, false);
    }
    return shared;
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
  std::map<ProgramRef, Inside> inside_;
};

}  // namespace

Origins origins(const ProgramRef& program) { return Guard().origins(program); }
Origins origins(std::span<const ProgramRef> branches) { return Guard().origins(branches); }

ProgramRef guard(const ProgramRef& program, const Mask& kept, const Mask& shared) {
  return Guard()(*program, kept, 0, shared);
}

}  // namespace tenon
