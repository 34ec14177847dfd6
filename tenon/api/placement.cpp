#include "tenon/api/placement.h"

#include <algorithm>

#include "tenon/ops/control/callee.h"

namespace tenon::api_detail {
namespace {

// What a Program calls that does nothing else; itself, where it does.
ProgramRef called_alone(const ProgramRef& program) {
  if (program->eqns().size() != 1 || !program->size_params().empty()) return program;
  const Eqn& eqn = program->eqns()[0];
  const auto is_op = [&](Placement placement) { return eqn.op == &call_op(placement); };
  if (!is_op(Placement::priced) && !is_op(Placement::unit) && !is_op(Placement::inlined)) return program;
  const auto& callee = eqn.params.as<CallParams>();
  const bool alone = callee.sizes.empty() && std::ranges::equal(eqn.in, program->inputs()) &&
                     std::ranges::equal(eqn.out, program->outputs());
  return alone ? callee.program : program;
}

}  // namespace

Arrays placed_flat(FlatFunction f, std::span<const Array> arguments, Placement placement, std::string_view name) {
  const TracedFunction traced = trace_flat(f, arguments, writes_refs, knows_values(), {}, name);
  return with_writes_done(
      traced, call(called_alone(traced.program), traced.sizes, joined({arguments, traced.captures}), placement));
}

}  // namespace tenon::api_detail
