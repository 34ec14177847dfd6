#include "tenon/api/differences.h"

#include <fmt/format.h>

#include "tenon/api/cumulative.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Dim size_along(const Array& x, std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)]; }

// x[1:] and x[:-1] along an axis; of no elements none.
struct Neighbours {
  Array after, before;
};
Neighbours neighbours(const Array& x, std::int64_t axis) {
  const Dim n = size_along(x, axis), fewer = max(n - 1, 0);
  return {slice_in_dim(x, n - fewer, n, axis), slice_in_dim(x, 0, fewer, axis)};
}
Array differences_of(const Array& x, std::int64_t axis) {
  const Neighbours pair = neighbours(x, axis);
  return x.dtype() == DType::bool_ ? pair.after != pair.before : pair.after - pair.before;
}
std::int64_t checked_axis(std::int64_t axis, const Array& x, std::string_view name) {
  return static_cast<std::int64_t>(normalize_axis(axis, x.rank(), name));
}

}  // namespace

Array diff(const Operand& given, std::int64_t n, std::int64_t given_axis, const DiffOptions& options) {
  constexpr std::string_view name = "diff";
  const SourceScope place(given.where(), name);
  Array x = given;
  const std::int64_t axis = checked_axis(given_axis, x, name);
  if (n < 0) throw ShapeError(fmt::format("{}: order must be non-negative but got {}.", name, n), "Give 0 or more.");
  if (n == 0) return x;
  Arrays parts;
  const auto edge = [&](const MaybeArray& value) {
    if (!value) return;
    Shape one = x.shape();
    one[static_cast<std::size_t>(axis)] = 1;
    parts.push_back(value->rank() == 0 ? broadcast_to(*value, one) : *value);
  };
  edge(options.prepend);
  parts.push_back(x);
  edge(options.append);
  if (parts.size() > 1) x = concatenate(in_one_dtype(parts).operands, axis);
  for (std::int64_t i = 0; i < n; ++i) {
    x = differences_of(x, axis);
    if (size_along(x, axis).try_value() == 0) break;
  }
  return x;
}

Array ediff1d(const Operand& x, const Ediff1dOptions& options) {
  const SourceScope place(x.where(), "ediff1d");
  const Array made = differences_of(in_a_row(x), 0);
  Arrays parts;
  const auto edge = [&](const MaybeArray& value) {
    if (value) parts.push_back(convert(in_a_row(*value), made.dtype()));
  };
  edge(options.to_begin);
  parts.push_back(made);
  edge(options.to_end);
  return parts.size() == 1 ? made : concatenate(parts, 0);
}

Array gradient(const Operand& given, std::int64_t given_axis, const Operand& spacing) {
  constexpr std::string_view name = "gradient";
  const SourceScope place(given.where(), name);
  const Array f = to_inexact(given);
  const std::int64_t axis = checked_axis(given_axis, f, name);
  const Dim n = size_along(f, axis);
  if (n.try_value().value_or(2) < 2)
    throw ShapeError(
        fmt::format("{}: Shape of array too small to calculate a numerical gradient, at least two elements "
                    "are required: axis {} of {}.",
                    name, axis, f.type().text()),
        "Take the gradient along another axis.");
  const auto part = [axis](const Array& x, const Dim& from, const Dim& to) { return slice_in_dim(x, from, to, axis); };
  if (spacing->rank() == 0) {
    const Array inside = (part(f, 2, n) - part(f, 0, n - 2)) * 0.5;
    const Array first = part(f, 1, 2) - part(f, 0, 1), last = part(f, n - 1, n) - part(f, n - 2, n - 1);
    return concatenate({first, inside, last}, axis) / spacing;
  }
  if (spacing->rank() != 1 || decided_equal(spacing->shape()[0], n) == false)
    throw ShapeError(
        fmt::format("{}: coordinates {} of axis {} of {}.", name, spacing->type().text(), axis, f.type().text()),
        "Give one distance, or a coordinate for each element along the axis.");
  const Array h = along_axis(differences_of(spacing, 0), static_cast<std::size_t>(axis), f.rank());
  const Array steps = differences_of(f, axis) / h;
  const Array low = part(h, 0, n - 2), high = part(h, 1, n - 1);
  const Array inside = (part(steps, 0, n - 2) * high + part(steps, 1, n - 1) * low) / (low + high);
  return concatenate({part(steps, 0, 1), inside, part(steps, n - 2, n - 1)}, axis);
}

Array trapezoid(const Operand& given, const TrapezoidOptions& options) {
  constexpr std::string_view name = "trapezoid";
  const SourceScope place(given.where(), name);
  const std::int64_t axis = checked_axis(options.axis, given, name);
  const auto last = [&](const Array& x) { return x.rank() > 1 ? move_axis(x, options.axis, -1) : x; };
  const auto end = [](const Array& x) { return static_cast<std::int64_t>(x.rank()) - 1; };
  Array values = to_inexact(given), dx = last(options.dx);
  if (options.x) {
    const Met met = in_one_inexact_dtype(Arrays{given, *options.x});
    values = met.operands[0];
    const Array x = last(met.operands[1]);
    dx = differences_of(x, end(x));
  }
  const Array y = move_axis(values, axis, -1);
  const Neighbours pair = neighbours(y, end(y));
  return sum(dx * (pair.after + pair.before), -1) * 0.5;
}

Array unwrap(const Operand& given, const UnwrapOptions& options) {
  constexpr std::string_view name = "unwrap";
  const SourceScope place(given.where(), name);
  const std::int64_t axis = checked_axis(options.axis, given, name);
  if (options.period.rank() != 0)
    throw ShapeError(fmt::format("{}: the period is {}.", name, options.period.type().text()), "Give one number.");
  const Promoted met = promote(given->dtype(), given->weak(), options.period.dtype(), options.period.weak());
  const Array p = given->dtype() == met.dtype ? Array(given) : convert(given, met.dtype).with_weak(false);
  const Dim n = size_along(p, axis);
  if (n.try_value() == 0) return p;
  const Array steps = differences_of(p, axis), period = convert(options.period, met.dtype);
  const bool whole = is_integer(met.dtype);
  const Array half = whole ? floor_divide(period, 2) : period / 2;
  Array moved = remainder(steps + half, period) - half;
  Array turns_back = (moved == -half) & (steps > 0);  // a step of half a period goes the way that it came
  if (whole) turns_back = turns_back & (half * 2 == period);
  moved = where(turns_back, half, moved);
  const Array stays = abs(steps) < (options.discont ? max(half, *options.discont) : half);
  const Array fix = cumsum(where(stays, 0, moved - steps), axis);
  return concatenate({slice_in_dim(p, 0, 1, axis), slice_in_dim(p, 1, n, axis) + fix}, axis);
}

}  // namespace tenon
