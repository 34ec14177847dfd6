#include "tenon/api/explain.h"

#include <fmt/format.h>

#include "tenon/api/kept.h"
#include "tenon/api/small_captures.h"
#include "tenon/compile/explain.h"
#include "tenon/rewrite/delta_stacks.h"
#include "tenon/rewrite/hoist_reductions.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

thread_local TracingReport* collecting = nullptr;

}  // namespace

TracingReport::TracingReport() : before_(std::exchange(collecting, this)) {}
TracingReport::~TracingReport() { collecting = before_; }

void note_kept(const Partitioned& parts, std::size_t outputs) {
  if (collecting == nullptr) return;
  const Program& first = *parts.first;
  const ProgramRef inlined = inline_calls(parts.first);
  for (const auto& r : parts.residuals) {
    if (r.from != Partitioned::Residual::From::stored) continue;
    const Var v = first.outputs()[outputs + r.index];
    const Origin origin = origin_of(first, v);
    const auto changes = delta_bytes(*inlined, inlined->outputs()[outputs + r.index]);
    collecting->report.kept.push_back(
        {fmt::format("{} {}{}", origin.op.empty() ? "an argument" : origin.op, origin.kept_type(first.type(v)).text(),
                     changes           ? ", as what each step changes"
                     : origin.booleans ? ", as bits"
                                       : ""),
         changes ? static_cast<std::int64_t>(*changes) : first.type(v).known_bytes(), origin.where});
  }
}

void note_hoisted(const ProgramRef& program) {
  if (collecting == nullptr) return;
  for (const HoistNote& note : hoist_notes(program))
    if (note.stays.empty()) collecting->report.taken.push_back({note.value, note.where, note.loop});
}

std::string explain_traced(const TracedFunction& traced, const std::vector<bool>& donated, Report report) {
  const TracedFunction known = with_tables(traced);
  std::vector<bool> mask = donated;
  for (const RefUse& use : traced.refs) mask.push_back(use.written);  // as a call donates them
  mask.resize(known.program->inputs().size(), false);
  report.applied = traced.applied;
  return explain(known.program, mask, std::move(report));
}

}  // namespace tenon::api_detail
