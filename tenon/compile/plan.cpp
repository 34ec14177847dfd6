#include "tenon/compile/plan.h"

#include <fmt/format.h>

#include <unordered_set>

#include "tenon/compile/arena.h"
#include "tenon/compile/block_planner.h"
#include "tenon/compile/blocks.h"
#include "tenon/compile/copies.h"
#include "tenon/compile/counters.h"
#include "tenon/compile/donate.h"
#include "tenon/compile/idle_stores.h"
#include "tenon/compile/merge.h"
#include "tenon/compile/numbers.h"
#include "tenon/compile/pack.h"
#include "tenon/compile/pieces.h"
#include "tenon/compile/product_views.h"
#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/literal.h"
#include "tenon/kernel/split_complex.h"
#include "tenon/rewrite/pass.h"
#include "tenon/transform/transforms.h"

namespace tenon {

namespace {

// Arrays of sizes that are known before the Program runs, and lists of arrays whose sizes are numbers.
bool compiles(const Program& program, const Type& type) {
  const Type* t = &type;
  while (t->is_list()) t = t->element.get();
  return t->is_array() && (type.is_list() ? t->shape.known() : !has_decided_size(program, *t));
}

// Each function that is called is looked at once.
std::string why_not_native(const Program& program, std::unordered_set<Hash128>& seen);

std::string why_not_native(const Program& program, const Eqn& eqn, std::unordered_set<Hash128>& seen) {
  if (!eqn.op->lower) return fmt::format("{}: {}", eqn.op->name, eqn.op->lower.reason());
  const bool moves_lists = rule_of<LowerStructure>(*eqn.op) != nullptr;
  for (const std::vector<Var>* vars : {&eqn.in, &eqn.out})
    for (const Var v : *vars) {
      if (!compiles(program, program.type(v))) return fmt::format("{} has no native form", program.type(v).text());
      if (!moves_lists && program.type(v).is_list()) return fmt::format("{} of a list", eqn.op->name);
    }
  if (eqn.op == &loop_op())
    if (const auto& p = eqn.params.as<LoopParams>(); p.cond && p.reverse)
      return "a loop that a condition ends runs backwards";
  if (const auto* structure = rule_of<LowerStructure>(*eqn.op); structure != nullptr && eqn.op != &require_equal_op())
    if (structure->kind == LowerStructure::Kind::host)
      return fmt::format("{} runs outside of native code", eqn.op->name);
  if (const auto* call = rule_of<LowerCall>(*eqn.op)) {
    const ProgramRef callee = call->rule(eqn.params).program;
    return seen.insert(callee->hash()).second ? why_not_native(*callee, seen) : "";
  }
  std::string inside;
  eqn.params.visit_programs([&](const ProgramRef& p) {
    if (p && inside.empty()) inside = why_not_native(*p, seen);
  });
  return inside;
}

std::string why_not_native(const Program& program, std::unordered_set<Hash128>& seen) {
  for (const Eqn& eqn : program.eqns())
    if (std::string reason = why_not_native(program, eqn, seen); !reason.empty()) return reason;
  for (const Type& type : program.parts().types)
    if (!compiles(program, type)) return fmt::format("{} has no native form", type.text());
  return {};
}

}  // namespace

std::string why_not_native(const Program& program, const Eqn& eqn) {
  std::unordered_set<Hash128> seen;
  return why_not_native(program, eqn, seen);
}

std::string why_not_native(const Program& program) {
  std::unordered_set<Hash128> seen;
  return why_not_native(program, seen);
}

ProgramRef flattened(const ProgramRef& program) { return run_passes(compile_passes(), program); }

Planned plan(const Program& program, const std::vector<bool>& donated, Report* report) {
  auto [function, units] = Planner(program, report).run();
  split_into_pieces(function);
  forward_copies(function);
  recompute_counters(function);
  split_into_pieces(function);  // what is now known of indices folds and divides further
  view_products(function);
  drop_idle_stores(function);
  pack_scalars(function);
  // Before statements are divided into rows together, so that a copy of a whole argument is still seen as one.
  auto shared = share_donated(function, program, donated);
  kernel::split_complex(function);
  divide_into_blocks(function, block_limits());
  merge_reductions(function);
  read_numbers(function);
  lay_out_arena(function);
  return {std::move(function), std::move(shared), std::move(units)};
}

}  // namespace tenon
