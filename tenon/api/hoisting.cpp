#include "tenon/api/hoisting.h"

#include "tenon/api/kept.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/hoist_reductions.h"
#include "tenon/rewrite/reduce_at_points.h"
#include "tenon/rewrite/stream_pairs.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {

Arrays hoisted_flat(FlatFunction f, std::span<const Array> arguments) {
  TracedFunction traced = trace_flat(f, arguments, writes_refs, knows_values());
  const ProgramRef streamed = stream_pairs(reduce_at_points(compose_views(inline_calls(traced.program))));
  note_hoisted(streamed);
  traced.program = hoist_reductions(streamed);
  return with_writes_done(
      traced, run_or_call(traced.program, traced.sizes, joined({arguments, traced.captures}), Placement::inlined));
}

}  // namespace tenon::api_detail
