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
// Elements that are added to a row: each is a choice an element.
constexpr std::int64_t most_added = 4;

// The rows of zeros to each of which some elements are added, or of which each has some whole rows added to it.
std::optional<SeveralRows> rows_added(const Program& program, std::span<const std::size_t> maker, const Eqn& eqn) {
  if (eqn.op != &scatter_op() || program.type(eqn.in[0]).dtype == DType::bool_ ||
      !is_filled_with_zero(program, maker, eqn.in[0]))
    return {};
  auto rows = several_rows_in_order(eqn, program, most_added);
  if (!rows || program.type(eqn.in[0]).shape[rows->points.axis].value() < fewest() * rows->count) return {};
  const auto has_all = [](const auto& along) { return along && !along->of_indices; };
  const auto in_step = [](const auto& along) { return along && along->of_indices; };
  // One row alone is written where it belongs.
  const bool one_row =
      std::ranges::any_of(rows->points.others, has_all) && std::ranges::none_of(rows->points.others, in_step);
  return one_row ? std::nullopt : rows;
}

Array chosen(const SeveralRows& added, const Type& type, const Array& indices, const Array& updates) {
  const RowPoints& points = added.points;
  const auto one = [&](const Array& of, std::int64_t axis, std::int64_t i) {
    return added.count == 1 ? of : slice_in_dim(of, i, i + 1, axis);
  };
  Array all;
  for (std::int64_t i = 0; i < added.count; ++i) {
    const Array row = reshape(one(updates, added.of_rows, i), type.shape.without_axis(points.axis));
    const Array made = where(is_named(points, type, one(indices, added.of_indices, i)),
                             broadcast_in_dim(row, type.shape, other_axes(points)), zeros(type.shape, type.dtype));
    all = all.empty() ? made : all + made;
  }
  return all;
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
        const auto rows = rows_added(*inner, maker, eqn);
        if (!rows) {
          replay.bind_eqn(eqn);
          continue;
        }
        const EqnScope place(eqn);
        replay.set(eqn.out[0], chosen(*rows, inner->type(eqn.out[0]), replay.get(eqn.in[1]), replay.get(eqn.in[2])));
      }
    });
  });
}

}  // namespace tenon
