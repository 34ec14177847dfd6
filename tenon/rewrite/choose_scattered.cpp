#include "tenon/rewrite/choose_scattered.h"

#include <algorithm>
#include <utility>

#include "tenon/base/settings.h"
#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Elements of a row: a scatter into shorter ones takes less.
std::int64_t fewest() { return blocks_are_small() ? 1 : 32; }

// The axis along which the rows lie, of which each has one element.
std::optional<std::int64_t> axis_of_rows(const Program& program, std::span<const std::size_t> maker, const Eqn& eqn) {
  if (eqn.op != &scatter_op()) return {};
  const Type &x = program.type(eqn.in[0]), &indices = program.type(eqn.in[1]), &updates = program.type(eqn.in[2]);
  if (!is_filled_with_zero(program, maker, eqn.in[0]) || x.dtype == DType::bool_) return {};
  const auto points = elements_added(eqn.params, x, indices);
  if (!points || !x.shape.known() || !updates.shape.known()) return {};
  std::optional<std::int64_t> rows;
  std::size_t next = 0;  // of the updates' axes: those that others go in step with come in order
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const ElementPoints::Along& along = points->along[axis];
    if (along.axis) {
      if (*along.axis != next++) return {};
    } else if (std::exchange(rows, static_cast<std::int64_t>(axis))) {
      return {};
    }
  }
  // Behind those axes the updates have one element.
  for (std::size_t axis = next; axis < updates.rank(); ++axis)
    if (updates.shape[axis] != Dim(1)) return {};
  return rows && x.shape[at(*rows)].value() >= fewest() ? rows : std::nullopt;
}

Array chosen(const Eqn& eqn, std::int64_t axis, const Type& type, const Array& indices, const Array& updates) {
  const Shape rows = type.shape.without_axis(at(axis));
  Array index = convert(reshape(indices, rows), DType::i64);
  const std::int64_t size = type.shape[at(axis)].value();
  if (elements_added(eqn.params, type, indices.type())->mode == IndexMode::clip) index = clamp(index, 0, size - 1);
  std::vector<std::int64_t> others;
  for (std::int64_t a = 0; at(a) < type.rank(); ++a)
    if (a != axis) others.push_back(a);
  const DType counted = index_dtype(type.shape[at(axis)]);
  // Numbers that lie outside are none of a row's.
  const Array number = where((index < 0) | (index >= size), -1, index);
  const Array found = broadcast_in_dim(convert(number, counted), type.shape, others) ==
                      broadcast_in_dim(arange(type.shape[at(axis)], counted), type.shape, {axis});
  return where(found, broadcast_in_dim(reshape(updates, rows), type.shape, others), zeros(type.shape, type.dtype));
}

}  // namespace

ProgramRef choose_scattered(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("choose_scattered")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, choose_scattered);
    const auto maker = maker_numbers(*inner);
    const auto is_one = [&](const Eqn& eqn) { return axis_of_rows(*inner, maker, eqn).has_value(); };
    if (std::ranges::none_of(inner->eqns(), is_one)) return inner;
    return rewritten(*inner, [&](Replay& replay) {
      for (const Eqn& eqn : inner->eqns()) {
        const auto axis = axis_of_rows(*inner, maker, eqn);
        if (!axis) {
          replay.bind_eqn(eqn);
          continue;
        }
        const EqnScope place(eqn);
        replay.set(eqn.out[0],
                   chosen(eqn, *axis, inner->type(eqn.out[0]), replay.get(eqn.in[1]), replay.get(eqn.in[2])));
      }
    });
  });
}

}  // namespace tenon
