#include "tenon/api/explain.h"

#include <fmt/format.h>

#include "tenon/api/kept.h"
#include "tenon/compile/explain.h"
#include "tenon/ops/region.h"

namespace tenon::api_detail {
namespace {

thread_local KeptValues* collecting = nullptr;

// The eqn that made a variable; of a loop's stacked output the one in its body that made each element.
const Eqn* maker(const Program& program, Var v) {
  for (const Eqn& eqn : program.eqns()) {
    const auto at = std::ranges::find(eqn.out, v) - eqn.out.begin();
    if (at == static_cast<std::ptrdiff_t>(eqn.out.size())) continue;
    if (eqn.op != &loop_op()) return &eqn;
    const auto& body = *eqn.params.as<LoopParams>().body;
    const Eqn* inside = maker(body, body.outputs()[static_cast<std::size_t>(at)]);
    return inside == nullptr ? &eqn : inside;
  }
  return nullptr;
}

std::int64_t bytes_of(const Type& type) {
  if (!type.is_array() || !type.shape.known()) return 0;
  auto bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim& d : type.shape) bytes *= d.value();
  return bytes;
}

}  // namespace

KeptValues::KeptValues() : before_(std::exchange(collecting, this)) {}
KeptValues::~KeptValues() { collecting = before_; }

void note_kept(const Partitioned& parts, std::size_t outputs) {
  if (collecting == nullptr) return;
  const Program& first = *parts.first;
  for (const auto& r : parts.residuals) {
    if (r.from != Partitioned::Residual::From::stored) continue;
    const Var v = first.outputs()[outputs + r.index];
    const Eqn* eqn = maker(first, v);
    collecting->values.push_back(
        {fmt::format("{} {}", eqn == nullptr ? "an argument" : eqn->op->name, first.type(v).text()),
         bytes_of(first.type(v)), eqn == nullptr ? Source() : eqn->where});
  }
}

std::string explain_traced(const TracedFunction& traced, const std::vector<bool>& donated,
                           std::vector<Report::Kept> kept) {
  std::vector<bool> mask = donated;
  mask.resize(traced.program->inputs().size(), false);
  Report report;
  report.kept = std::move(kept);
  return explain(traced.program, mask, std::move(report));
}

}  // namespace tenon::api_detail
