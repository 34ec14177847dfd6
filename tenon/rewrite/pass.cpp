#include "tenon/rewrite/pass.h"

#include <fmt/format.h>

#include <chrono>

#include "tenon/base/dump.h"
#include "tenon/base/fork.h"
#include "tenon/base/log.h"
#include "tenon/ir/print.h"
#include "tenon/ir/unify.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/delay_sums.h"
#include "tenon/rewrite/delta_stacks.h"
#include "tenon/rewrite/hoist_invariants.h"
#include "tenon/rewrite/hoist_reductions.h"
#include "tenon/rewrite/narrow_products.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/rewrite/sink_operands.h"

namespace tenon {
namespace {

// Sizes that data decide may have other numbers.
bool same_types(const Program& a, const Program& b) {
  const std::vector<Type> x = a.output_types(), y = b.output_types();
  SizeBinding numbers;
  bool same = a.input_types() == b.input_types() && x.size() == y.size();
  for (std::size_t i = 0; i < x.size() && same; ++i) same = unify(x[i], y[i], numbers);
  return same;
}

}  // namespace

ProgramRef run_pass(const Pass& pass, const ProgramRef& program) {
  const auto start = std::chrono::steady_clock::now();
  ProgramRef result = pass.run(program);
  if (result == program) return result;
  if (!same_types(*program, *result))
    throw VerifyError(
        fmt::format("the pass {} has changed the types of {}'s inputs or outputs.", pass.name, program->name()));
  if (log_enabled(LogTopic::rewrite) && result->hash() != program->hash())
    log_line(LogTopic::rewrite,
             fmt::format("{}: {} eqns became {} in {:.3f} ms", pass.name, program->eqns().size(), result->eqns().size(),
                         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()));
  if (dumping() && result->hash() != program->hash()) dump(pass.name + ".tn", print(*result));
  return result;
}

ProgramRef run_passes(std::span<const Pass> passes, const ProgramRef& program) {
  ProgramRef result = program;
  for (const Pass& pass : passes) result = run_pass(pass, result);
  return result;
}

std::span<const Pass> compile_passes() {
  static constinit Lasting<const std::vector<Pass>> passes;
  return passes.get([] {
    return std::vector<Pass>{
        {"share_calls", "calls replaced by what they call, but for long functions that are called several times",
         share_calls},
        {"compose_views", "transposes, reshapes and slices of each other as one, slices of stacks as what was stacked",
         compose_views},
        {"narrow_products", "products of less, where operands repeat or results are summed", narrow_products},
        {"hoist_invariants", "what each step of a loop would compute alike, computed before it", hoist_invariants},
        {"hoist_reductions", "reductions of stacked outputs moved into their loops", hoist_reductions},
        {"delta_stacks", "stacks of an array that a loop updates in places kept as what each step changes",
         delta_stacks},
        {"delay_sums", "sums of products within loops taken once, behind them", delay_sums},
        {"sink_operands", "what a loop reads step by step computed in the step that reads it", sink_operands},
    };
  });
}

}  // namespace tenon
