#include "tenon/rewrite/unify_sizes.h"

#include <algorithm>
#include <set>

#include "tenon/ir/equal_sizes.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Whether an eqn requires sizes to be equal that the parameters of its Program decide.
bool is_check(const Eqn& eqn, const std::set<SizeVar>& parameters) {
  if (eqn.op != &require_equal_op()) return false;
  bool given = true;
  eqn.params.visit_dims(
      [&](const Dim& d) { d.visit_variables([&](SizeVar s) { given = given && parameters.contains(s); }); });
  return given;
}

}  // namespace

ProgramRef unify_sizes(const ProgramRef& program) {
  if (program->size_params().empty()) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("unify_sizes")(program->hash()).finish(), [&] {
    const std::set<SizeVar> parameters(program->size_params().begin(), program->size_params().end());
    std::vector<const Eqn*> checks;
    EqualSizes equal;
    for (const Eqn& eqn : program->eqns()) {
      if (!is_check(eqn, parameters)) continue;
      checks.push_back(&eqn);
      const auto [a, b] = sizes_to_be_equal(eqn.params);
      equal.note(a, b);
    }
    if (equal.empty() || std::ranges::any_of(program->input_types(), &Type::is_list)) return program;
    Scope scope;
    const std::vector<Dim> own = scope.size_params_of(*program);
    const Replay given(*program, own);
    Arrays inputs;
    for (const Var v : program->inputs()) inputs.push_back(scope.input(given.type(v)));
    std::vector<Dim> sizes;
    for (const SizeVar s : program->size_params())
      sizes.push_back(substitute(equal.resolved(Dim::variable(s)), given.sizes()));
    Replay replay(*program, sizes);
    for (const Eqn* check : checks) {
      const EqnScope place(*check);
      bind_op(*check->op, given.params(*check), {});
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type type = replay.type(program->inputs()[i]);
      replay.set(program->inputs()[i], inputs[i].type() == type ? inputs[i] : reshape(inputs[i], type.shape));
    }
    for (const Eqn& eqn : program->eqns())
      if (!is_check(eqn, parameters)) replay.bind_eqn(eqn);
    Arrays outputs;
    for (const Var v : program->outputs()) outputs.push_back(replay.get(v));
    return scope.finish(outputs, program->name()).program;
  });
}

}  // namespace tenon
