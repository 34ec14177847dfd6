#include "tenon/api/places.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/api/cumulative.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

void require_whole(std::string_view name, const Array& numbers) {
  if (!is_integer(numbers.dtype()))
    throw DTypeError(fmt::format("{}: indices are integers, not {}.", name, numbers.type().text()), "Convert them.");
}
// Whether elements are not 0.
Array truths(const Array& x) { return x.dtype() == DType::bool_ ? x : x != 0; }
Array size_at_least_one(const Dim& n, DType dtype) { return size_as_array(max(n, 1), dtype); }

// Numbers below n, of values that stand in a row again and again.
Array again(const Array& values, const Array& numbers) {
  const Dim n = values.shape()[0];
  if (n.try_value() == 1) return broadcast_to(values, numbers.shape());
  return take(values, remainder(numbers, size_at_least_one(n, numbers.dtype())), 0);
}

}  // namespace

Array select(std::span<const Array> conditions, std::span<const Array> choices, const Operand& otherwise) {
  constexpr std::string_view name = "select";
  const SourceScope place(otherwise.where(), name);
  if (conditions.size() != choices.size() || choices.empty())
    throw ShapeError(fmt::format("{}: {} conditions and {} choices.", name, conditions.size(), choices.size()),
                     "Give as many conditions as choices, at least one.");
  std::vector<Array> all(choices.begin(), choices.end());
  all.push_back(otherwise);
  const Met met = in_one_dtype(all);
  Array made = met.operands.back();
  for (std::size_t i = choices.size(); i-- > 0;) made = where(truths(conditions[i]), met.operands[i], made);
  return made.with_weak(met.weak);
}

std::vector<Array> unravel_index(const Operand& numbers, const Shape& shape) {
  constexpr std::string_view name = "unravel_index";
  const SourceScope place(numbers.where(), name);
  require_whole(name, numbers);
  const Dim count = shape.elements();
  const Array total = size_as_array(count, DType::i64);
  // Of u64 those that no signed number holds are far outside.
  const Array within = numbers->dtype() == DType::u64
                           ? min(numbers, Array(Scalar(std::uint64_t(std::numeric_limits<std::int64_t>::max()))))
                           : numbers.array();
  const Array given = min(convert(within, DType::i64).with_weak(false), max(total - 1, 0));
  Array left = where(given < 0, max(given, -total) + total, given);
  std::vector<Array> made(shape.rank());
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const Array n = size_at_least_one(shape[axis], DType::i64);
    made[axis] = convert(remainder(left, n), numbers->dtype()).with_weak(numbers->weak());
    left = floor_divide(left, n);
  }
  return made;
}

Array ravel_index(std::span<const Array> indices, const Shape& shape, Outside mode, const Source& where) {
  constexpr std::string_view name = "ravel_index";
  const SourceScope place(where, name);
  if (indices.size() != shape.rank() || indices.empty())
    throw ShapeError(fmt::format("{}: {} indices for {} axes.", name, indices.size(), shape.rank()),
                     "Give one for each axis.");
  for (const Array& index : indices) require_whole(name, index);
  const Met met = in_one_dtype(indices);
  Array made;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    Array at = met.operands[axis];
    const Array n = size_as_array(shape[axis], at.dtype());
    if (mode == Outside::clip) at = clamp(at, 0, max(n, 1) - 1);
    if (mode == Outside::wrap) at = remainder(at, max(n, 1));
    made = axis == 0 ? at : made * n + at;
  }
  return made.with_weak(met.weak);
}

Array put(const Operand& x, const Operand& numbers, const Operand& values, Outside mode) {
  constexpr std::string_view name = "put";
  const SourceScope place(x.where(), name);
  require_whole(name, numbers);
  const Array flat = in_a_row(x), given = in_a_row(convert(values, x->dtype()));
  const Dim n = flat.shape()[0];
  const DType dtype = index_dtype(n);
  Array at = convert(in_a_row(numbers), dtype).with_weak(false);
  if (mode == Outside::wrap) at = remainder(at, size_at_least_one(n, dtype));
  const Array each = again(given, iota(dtype, at.shape(), 0));
  const ScatterOptions options{.mode = mode == Outside::ignore ? IndexMode::fill : IndexMode::clip};
  const Array made = scatter_at(ScatterKind::set, flat, std::span(&at, 1), {0}, each, options);
  return reshape(made, x->shape()).with_weak(x->weak());
}

Array place(const Operand& x, const Operand& mask, const Operand& values) {
  constexpr std::string_view name = "place";
  const SourceScope scope(x.where(), name);
  const Array flat = in_a_row(x), holds = in_a_row(truths(mask)), given = in_a_row(convert(values, x->dtype()));
  if (given.shape()[0].try_value() == 0)
    throw ShapeError(fmt::format("{}: there are no values.", name), "Give one or more.");
  if (decided_equal(holds.shape()[0], flat.shape()[0]) == false)
    throw ShapeError(fmt::format("{}: a mask of {} for {}.", name, mask->type().text(), x->type().text()),
                     "Give a truth for each element.");
  const DType dtype = index_dtype(flat.shape()[0]);
  const Array before = max(cumsum(convert(holds, dtype), 0) - 1, 0);
  return reshape(where(holds, again(given, before), flat), x->shape()).with_weak(x->weak());
}

Array fill_diagonal(const Operand& x, const Operand& values) {
  constexpr std::string_view name = "fill_diagonal";
  const SourceScope place(x.where(), name);
  if (x->rank() < 2)
    throw ShapeError(fmt::format("{}: {} has no diagonal.", name, x->type().text()), "Give two axes or more.");
  Dim n = x->shape()[0];
  for (const Dim& each : x->shape()) n = min(n, each);
  const Array at = iota(DType::i32, {n}, 0), given = in_a_row(convert(values, x->dtype()));
  const std::vector<Array> indices(x->rank(), at);
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < x->rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return scatter_at(ScatterKind::set, x, indices, axes, again(given, at), {.hints = {.sorted = true, .unique = true}})
      .with_weak(x->weak());
}

}  // namespace tenon
