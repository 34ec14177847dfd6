#include "tenon/rewrite/choose_scattered.h"

#include <algorithm>

#include "tenon/base/settings.h"
#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/chosen_rows.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Elements of a row: a scatter into shorter ones takes less.
std::int64_t fewest() { return blocks_are_small() ? 1 : 32; }

// The rows of zeros to each of which one element is added, or of which each has one whole row added to it.
std::optional<RowPoints> rows_added(const Program& program, std::span<const std::size_t> maker, const Eqn& eqn) {
  if (eqn.op != &scatter_op() || program.type(eqn.in[0]).dtype == DType::bool_ ||
      !is_filled_with_zero(program, maker, eqn.in[0]))
    return {};
  auto points = rows_in_order(eqn, program);
  if (!points || program.type(eqn.in[0]).shape[points->axis].value() < fewest()) return {};
  const auto has_all = [](const auto& along) { return along && !along->of_indices; };
  const auto in_step = [](const auto& along) { return along && along->of_indices; };
  // One row alone is written where it belongs.
  const bool one_row = std::ranges::any_of(points->others, has_all) && std::ranges::none_of(points->others, in_step);
  return one_row ? std::nullopt : points;
}

Array chosen(const RowPoints& points, const Type& type, const Array& indices, const Array& updates) {
  const Array rows = reshape(updates, type.shape.without_axis(points.axis));
  return where(is_named(points, type, indices), broadcast_in_dim(rows, type.shape, other_axes(points)),
               zeros(type.shape, type.dtype));
}

}  // namespace

ProgramRef choose_scattered(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("choose_scattered")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, choose_scattered);
    const auto maker = maker_numbers(*inner);
    const auto is_one = [&](const Eqn& eqn) { return rows_added(*inner, maker, eqn).has_value(); };
    if (std::ranges::none_of(inner->eqns(), is_one)) return inner;
    return rewritten(*inner, [&](Replay& replay) {
      for (const Eqn& eqn : inner->eqns()) {
        const auto points = rows_added(*inner, maker, eqn);
        if (!points) {
          replay.bind_eqn(eqn);
          continue;
        }
        const EqnScope place(eqn);
        replay.set(eqn.out[0], chosen(*points, inner->type(eqn.out[0]), replay.get(eqn.in[1]), replay.get(eqn.in[2])));
      }
    });
  });
}

}  // namespace tenon
