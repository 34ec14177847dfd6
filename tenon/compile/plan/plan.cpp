#include "tenon/compile/plan/plan.h"

#include <fmt/format.h>

#include <unordered_set>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/block_planner.h"
#include "tenon/compile/target.h"
#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/literal.h"
#include "tenon/kernel/verify.h"
#include "tenon/transform/transforms.h"

namespace tenon {

namespace {

// Whether the eqn's own form finds the sizes that it decides.
bool finds_sizes(const Eqn& eqn) {
  using Kind = LowerStructure::Kind;
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  return structure != nullptr &&
         (structure->kind == Kind::compress || structure->kind == Kind::count || structure->kind == Kind::extent);
}

// Whether an op that has a form for each size has one for all: as it is asked for it, of nothing that is there.
bool has_form_for_all_sizes(const Program& program, const Eqn& eqn) {
  std::vector<Type> in, out;
  for (const Var v : eqn.in) in.push_back(program.type(v));
  for (const Var v : eqn.out) out.push_back(program.type(v));
  try {
    if (const auto* library = rule_of<LowerLibrary>(*eqn.op)) static_cast<void>(library->rule(eqn.params, in));
    if (const auto* element = rule_of<LowerElement>(*eqn.op)) {
      std::vector<Expr> index;
      for (std::uint32_t i = 0; i < out[0].rank(); ++i) index.push_back(kernel::variable(i));
      const auto load = [&](std::size_t k, std::span<const Expr>) {
        return kernel::load(static_cast<SlotId>(k), in[k].dtype, Expr(std::int64_t(0)));
      };
      static_cast<void>(element->rule({eqn.params, in, out, index, load, [](const Dim&) {}}));
    }
  } catch (const ConcretizationError&) {
    return false;
  }
  return true;
}

// Looks for an eqn that has no native form, and says why.
class WhyNotNative {
 public:
  // Of a Program, or of eqns of it.
  explicit WhyNotNative(const Program& program) : WhyNotNative(program, std::make_shared<Seen>()) {}

  std::string of(const Program& program) {
    for (const Eqn& eqn : program.eqns())
      if (std::string reason = of(program, eqn); !reason.empty()) return reason;
    return {};
  }

  std::string of(const Program& program, const Eqn& eqn) {
    if (!eqn.op->lower) return fmt::format("{}: {}", eqn.op->name, eqn.op->lower.reason());
    const bool moves_lists = rule_of<LowerStructure>(*eqn.op) != nullptr;
    bool found = false;  // it has to do with a size that data decide
    for (const std::vector<Var>* vars : {&eqn.in, &eqn.out})
      for (const Var v : *vars) {
        const Type& type = program.type(v);
        if (!moves_lists && type.is_list()) return fmt::format("{} of a list", eqn.op->name);
        found = found || is_found(program, type);
      }
    if (eqn.op == &loop_op())
      if (const auto& p = eqn.params.as<LoopParams>(); p.cond && p.reverse)
        return "a loop that a condition ends runs backwards";
    if (const auto* structure = rule_of<LowerStructure>(*eqn.op); structure != nullptr && eqn.op != &require_equal_op())
      if (structure->kind == LowerStructure::Kind::host)
        return fmt::format("{} runs outside of native code", eqn.op->name);
    if (!eqn.new_sizes.empty() && !finds_sizes(eqn))
      return fmt::format("{} decides a size, and has no form that finds it", eqn.op->name);
    if (found && !has_form_for_all_sizes(program, eqn))
      return fmt::format("{} is compiled for sizes that are known", eqn.op->name);
    if (const auto* call = rule_of<LowerCall>(*eqn.op)) return of_called(*call->rule(eqn.params).program);
    std::string inside;
    eqn.params.visit_programs([&](const ProgramRef& p) {
      if (p && inside.empty()) inside = of(*p);
    });
    return inside;
  }

 private:
  using Seen = std::unordered_set<Hash128>;
  WhyNotNative(const Program& program, std::shared_ptr<Seen> seen)
      : given_(!program.size_params().empty()), seen_(std::move(seen)) {}
  // Sizes of a Program that has no parameters are numbers, or data decide them, outside of a region or in it.
  bool is_found(const Program& program, const Type& type) const {
    if (given_) return has_decided_size(program, type);
    return !leaf_type(type).shape.known();
  }
  // Each function that is called is looked at once.
  std::string of_called(const Program& callee) {
    return seen_->insert(callee.hash()).second ? WhyNotNative(callee, seen_).of(callee) : "";
  }

  bool given_;  // sizes before the Program runs
  std::shared_ptr<Seen> seen_;
};

}  // namespace

std::string why_not_native(const Program& program, const Eqn& eqn) { return WhyNotNative(program).of(program, eqn); }

std::string why_not_native(const Program& program) { return WhyNotNative(program).of(program); }

ProgramRef flattened(const ProgramRef& program) {
  check_passes_left_out();
  return run_passes(compile_passes(), program);
}

namespace {

// Of each argument, inputs first, the donated ones of the same type.
kernel::Donated donated_arguments(const Program& program, const std::vector<bool>& donated) {
  const std::size_t inputs = program.inputs().size(), outputs = program.outputs().size();
  if (donated.empty()) return {};
  kernel::Donated may_take(inputs + outputs);
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < inputs; ++i)
      if (donated[i] && program.type(program.inputs()[i]).is_array() &&
          program.type(program.inputs()[i]) == program.type(program.outputs()[o]))
        may_take[inputs + o].push_back(static_cast<std::uint32_t>(i));
  return may_take;
}

}  // namespace

std::pair<kernel::Function, Units> statements_of(const Program& program, const kernel::Target& target, Report* report) {
  auto planned = Planner(program, target, report).run();
  kernel::verify(planned.first, "plan");
  return planned;
}

Planned plan(const Program& program, const std::vector<bool>& donated, Report* report) {
  const kernel::Target machine = target();
  auto [function, units] = statements_of(program, machine, report);
  std::vector<std::optional<std::uint32_t>> taken;
  // Where sizes do not go with each other, the evaluator has to find the inputs as they were.
  const kernel::Donated may_take = function.checks_sizes ? kernel::Donated() : donated_arguments(program, donated);
  function = kernel::run_passes(kernel_passes(machine, may_take, &taken), std::move(function));
  std::vector<std::optional<std::size_t>> shared;
  if (!donated.empty()) shared.resize(program.outputs().size());
  for (std::size_t o = 0; o < shared.size() && !taken.empty(); ++o) shared[o] = taken[program.inputs().size() + o];
  const auto given = static_cast<SizeVar>(program.size_params().size());
  return {std::move(function), std::move(shared), std::move(units), sizes_from(given, program.output_types())};
}

}  // namespace tenon
