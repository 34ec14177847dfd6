#include "tenon/api/residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tenon/api/kept.h"
#include "tenon/ops/region.h"
#include "tenon/rewrite/delta_stacks.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

std::int64_t bytes_of(const Type& type) {
  if (!type.is_array()) return bytes_of(*type.element);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim& d : type.shape) bytes *= d.known() ? d.value() : 1;
  return bytes;
}

}  // namespace

std::int64_t SavedResiduals::bytes() const {
  std::int64_t sum = 0;
  for (const SavedResidual& r : all)
    if (r.from == SavedResidual::From::stored) sum += r.bytes;
  return sum;
}

std::string SavedResiduals::text() const {
  using From = SavedResidual::From;
  const auto stored = std::ranges::count(all, From::stored, &SavedResidual::from);
  std::string text =
      fmt::format("{} bytes are kept for reverse mode, in {} array{}\n", bytes(), stored, stored == 1 ? "" : "s");
  for (const SavedResidual& r : all) {
    text += "  " + r.type.text();
    if (r.from == From::stored) text += fmt::format("  {} bytes{}", r.bytes, r.type.is_array() ? "" : " a step");
    text += "  " + r.name;
    if (r.changes) text += ", as what each step changes,";
    if (r.where.known()) text += " at " + r.where.text();
    text += "\n";
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const SavedResiduals& residuals) { return out << residuals.text(); }

namespace api_detail {

Origin origin_of(const Program& program, Var v) {
  for (const Eqn& eqn : program.eqns()) {
    const auto out = std::ranges::find(eqn.out, v);
    if (out == eqn.out.end()) continue;
    Origin origin{std::string(eqn.op->name), eqn.where};
    const auto index = static_cast<std::size_t>(out - eqn.out.begin());
    // A region's Programs give its outputs in order; a branch that was not taken gives plain zeros.
    eqn.params.visit_programs([&](const ProgramRef& inside) {
      if (!inside || index >= inside->outputs().size()) return;
      if (eqn.op == &loop_op() && inside != eqn.params.as<LoopParams>().body) return;
      const Origin deeper = origin_of(*inside, inside->outputs()[index]);
      if (!deeper.op.empty() && deeper.op != "literal" && deeper.op != "broadcast") origin = deeper;
    });
    return origin;
  }
  return {};
}

SavedResiduals saved_residuals_flat(const FlatFunction& f, const Arguments& arguments) {
  const TracedFunction traced = trace_flat(f, arguments.leaves, "saved_residuals", all_concrete(arguments.leaves));
  Mask active = arguments.chosen, differentiated;
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = active[i] && has_tangent(arguments.leaves[i].type());
  active.resize(traced.program->inputs().size(), false);
  for (Var v : traced.program->outputs()) differentiated.push_back(has_tangent(traced.program->type(v)));
  const Partitioned parts = linearize(traced.program, active, differentiated);
  const ProgramRef first = inline_calls(parts.first);
  const std::vector<std::string> paths = arguments.paths();
  SavedResiduals saved;
  for (const auto& r : parts.residuals) {
    using From = SavedResidual::From;
    SavedResidual residual{From::stored, r.type, bytes_of(r.type), false, {}, {}};
    if (r.from == Partitioned::Residual::From::input) {
      residual.from = r.index < paths.size() ? From::argument : From::capture;
      residual.name = r.index < paths.size() ? argument_name(paths[r.index]) : "an array that the function captures";
    } else {
      const bool result = r.from == Partitioned::Residual::From::output;
      const std::size_t index = result ? r.index : differentiated.size() + r.index;
      const Origin origin = origin_of(*parts.first, parts.first->outputs()[index]);
      if (result) residual.from = From::result;
      if (const auto less = result ? std::nullopt : delta_bytes(*first, first->outputs()[index])) {
        residual.changes = true;
        residual.bytes = *less;
      }
      residual.name = result ? "a result" : origin.op;
      residual.where = origin.where;
    }
    saved.all.push_back(std::move(residual));
  }
  return saved;
}

}  // namespace api_detail
}  // namespace tenon
