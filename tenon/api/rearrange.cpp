#include "tenon/api/rearrange.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/cumulative.h"
#include "tenon/api/searchsorted.h"
#include "tenon/base/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/division.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/shape.h"

namespace tenon {
namespace {

std::int64_t axis_of(std::string_view name, const Array& x, std::int64_t axis) {
  return static_cast<std::int64_t>(normalize_axis(axis, x.rank(), name));
}
Dim elements_along(const Array& x, std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)]; }

// Which of n elements stands at each place, with others before and behind: i32.
Array places_around(const Dim& n, const PadWidth& width, PadMode mode) {
  const Array at = iota(DType::i32, {width.before + n + width.behind}, 0) - size_as_array(width.before, DType::i32);
  const auto number = [](const Dim& size) { return size_as_array(size, DType::i32); };
  switch (mode) {
    case PadMode::edge:
      return clamp(at, 0, number(n - 1));
    case PadMode::wrap:
      return remainder(at, number(max(n, 1)));
    default: {
      const std::int32_t ends = mode == PadMode::reflect ? 2 : 1;  // the ends are there once, or twice
      const Array turned = remainder(at, number(max(2 * n - 2 * (ends - 1), 1)));
      return where(turned < number(n), turned, number(2 * n - ends) - turned);
    }
  }
}

}  // namespace

Array flip(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "flip");
  return reverse(x, axes.of(x->type(), "flip"));
}

Array rot90(const Operand& x, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
  constexpr std::string_view name = "rot90";
  const SourceScope place(x.where(), name);
  const std::int64_t a = axis_of(name, x, axis1), b = axis_of(name, x, axis2);
  if (a == b)
    throw ShapeError(fmt::format("{}: axis {} of {} is named twice.", name, a, x->type().text()),
                     "A plane has two axes.");
  std::vector<std::int64_t> exchanged;
  for (std::size_t i = 0; i < x->rank(); ++i) exchanged.push_back(static_cast<std::int64_t>(i));
  std::swap(exchanged[static_cast<std::size_t>(a)], exchanged[static_cast<std::size_t>(b)]);
  switch (((k % 4) + 4) % 4) {
    case 0:
      return x;
    case 1:
      return transpose(reverse(x, {b}), exchanged);
    case 2:
      return reverse(x, {a, b});
    default:
      return reverse(transpose(x, exchanged), {b});
  }
}

Array roll(const Operand& given, const Dim& shift, std::optional<std::int64_t> along) {
  constexpr std::string_view name = "roll";
  const SourceScope place(given.where(), name);
  if (!along) return reshape(roll(in_a_row(given), shift, 0), given->shape());
  const Array x = given;
  const std::int64_t axis = axis_of(name, x, *along);
  const Dim n = elements_along(x, axis);
  if (n.try_value() == 0) return x;
  const Dim by = modulo(shift, max(n, 1));
  if (by.try_value() == 0) return x;
  return concatenate({slice_in_dim(x, n - by, n, axis), slice_in_dim(x, 0, n - by, axis)}, axis);
}
Array roll(const Operand& x, const Array& shift, std::optional<std::int64_t> along) {
  constexpr std::string_view name = "roll";
  const SourceScope place(x.where(), name);
  if (!along) return reshape(roll(in_a_row(x), shift, 0), x->shape());
  const std::int64_t axis = axis_of(name, x, *along);
  const Dim n = elements_along(x, axis);
  if (shift.rank() != 0 || !is_integer(shift.dtype()))
    throw ShapeError(fmt::format("{}: a shift of {}.", name, shift.type().text()), "Give one integer for each axis.");
  const Array from =
      remainder(iota(DType::i32, {n}, 0) - convert(shift, DType::i32), size_as_array(max(n, 1), DType::i32));
  return take(x, from, axis, {.hints = {.unique = true}});
}

Array tile(const Operand& given, const Shape& times) {
  const SourceScope place(given.where(), "tile");
  const std::size_t rank = std::max(given->rank(), times.rank());
  std::vector<Dim> apart, wide, made;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto size = [&](const Shape& s) { return i + s.rank() < rank ? Dim(1) : s[i + s.rank() - rank]; };
    const Dim n = size(given->shape()), count = size(times);
    apart.insert(apart.end(), {Dim(1), n}), wide.insert(wide.end(), {count, n}), made.push_back(count * n);
  }
  return reshape(broadcast_to(reshape(given, Shape(apart)), Shape(wide)), Shape(made));
}

Array repeat(const Operand& given, const Dim& times, std::optional<std::int64_t> along) {
  constexpr std::string_view name = "repeat";
  const SourceScope place(given.where(), name);
  if (times.try_value().value_or(0) < 0)
    throw ShapeError(fmt::format("{}: {} times.", name, times.text()), "Give 0 or more.");
  const Array x = along && given->rank() > 0 ? Array(given) : in_a_row(given);
  const std::int64_t axis = along && given->rank() > 0 ? axis_of(name, x, *along) : 0;
  const auto at = static_cast<std::size_t>(axis);
  Shape made = x.shape();
  const Shape wide = made.with_axis(at + 1, times);
  made[at] = made[at] * times;
  return reshape(broadcast_to(expand_dims(x, axis + 1), wide), made);
}
Array repeat(const Operand& x, const Array& times, const Dim& total, std::int64_t along) {
  constexpr std::string_view name = "repeat";
  const SourceScope place(x.where(), name);
  const std::int64_t axis = axis_of(name, x, along);
  const Dim n = elements_along(x, axis);
  if (times.rank() > 1 || !is_integer(times.dtype()))
    throw ShapeError(fmt::format("{}: {} times.", name, times.type().text()),
                     "Give an integer for each element along the axis.");
  if (n.try_value() == 0) return x;
  const Array ends = cumsum(broadcast_to(times, {n}), 0);
  return take(x, searchsorted(ends, iota(ends.dtype(), {total}, 0), Side::right), axis, {.hints = {.sorted = true}});
}

Array pad(const Operand& given, std::span<const PadWidth> widths, PadMode mode) {
  constexpr std::string_view name = "pad";
  const SourceScope place(given.where(), name);
  Array x = given;
  if (widths.size() != x.rank())
    throw ShapeError(fmt::format("{}: {} widths of {}.", name, widths.size(), x.type().text()),
                     "Give one for each axis.");
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto& [before, behind] = widths[i];
    if (before.try_value().value_or(0) < 0 || behind.try_value().value_or(0) < 0)
      throw ShapeError(fmt::format("{}: {} and {} elements around axis {}.", name, before.text(), behind.text(), i),
                       "Give 0 or more; slice() leaves elements out.");
    if ((before + behind).try_value() == 0) continue;
    const Dim n = x.shape()[i];
    if (n.try_value() == 0)
      throw ShapeError(fmt::format("{}: can't extend empty axis {} of {}.", name, i, x.type().text()),
                       "Pad it with a value.");
    x = take(x, places_around(n, widths[i], mode), static_cast<std::int64_t>(i));
  }
  return x.with_weak(given->weak());
}

}  // namespace tenon
