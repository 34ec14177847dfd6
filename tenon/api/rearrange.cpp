#include "tenon/api/rearrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tenon/api/cumulative.h"
#include "tenon/api/searchsorted.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

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

namespace {

// x and the axis that is meant: without one, of all elements in a row.
std::pair<Array, std::int64_t> along_axis(std::string_view name, const Operand& x, std::optional<std::int64_t> axis) {
  if (!axis) return {in_a_row(x), 0};
  return {x, axis_of(name, x, *axis)};
}
void require_integers(std::string_view name, const Array& places) {
  if (!is_integer(places.dtype()))
    throw DTypeError(fmt::format("{}: places of {}.", name, places.type().text()), "Give integers.");
  if (places.rank() > 1)
    throw ShapeError(fmt::format("{}: places of {}.", name, places.type().text()), "Give one, or a vector of them.");
}
// Places in a dtype that holds all of them; negative ones count from the end.
Array from_front(const Array& places, const Dim& n, DType dtype) {
  const Array at = convert(places, dtype).with_weak(false);
  return where(at < 0, at + size_as_array(n, dtype), at);
}

// The same of places that are known. Throws ShapeError where one is outside of n elements.
std::int64_t from_front(std::string_view name, std::int64_t place, std::int64_t n, const Type& of) {
  if (place < -n || place >= n)
    throw ShapeError(fmt::format("{}: place {} of {} elements of {}.", name, place, n, of.text()),
                     "Give one of 0 and up, or of -1 and down to count from the end.");
  return place < 0 ? place + n : place;
}

}  // namespace

Array insert(const Operand& given, const Operand& places, const Operand& values, std::optional<std::int64_t> along) {
  constexpr std::string_view name = "insert";
  const SourceScope place(given.where(), name);
  const auto [x, axis] = along_axis(name, given, along);
  require_integers(name, places);
  Array rows = convert(values, x.dtype());
  const auto at = static_cast<std::size_t>(axis);
  if (rows.rank() > x.rank())
    throw ShapeError(fmt::format("{}: values of {} into {}.", name, values->type().text(), x.type().text()),
                     "Give as many axes, or fewer.");
  if (places->rank() == 0 && rows.rank() == x.rank()) rows = move_axis(rows, 0, axis);
  if (places->rank() == 0 && rows.rank() + 1 == x.rank()) rows = expand_dims(rows, axis);
  const Array known = in_a_row(places);
  const bool one = known.shape()[0] == Dim(1) && rows.rank() == x.rank();
  const Dim n = x.shape()[at], count = one ? rows.shape()[at] : known.shape()[0];
  const Dim total = n + count;
  const DType dtype = index_dtype(total);
  const auto number = [&](const Dim& size) { return size_as_array(size, dtype); };
  const auto counted = [&](const Dim& size) { return iota(dtype, {size}, 0); };
  const Array before = clamp(broadcast_to(from_front(known, n, dtype), {count}), 0, number(n));
  rows = broadcast_to(rows, [&] {
    Shape wide = x.shape();
    wide[at] = count;
    return wide;
  }());
  if (count.try_value() == 0) return x;
  // Where each row of values is in the result, and of each place there whether it is one of them.
  const Array order = argsort(before), taken = take(before, order, 0) + counted(count);
  const Array here = counted(total), until = convert(searchsorted(taken, here, Side::right), dtype);
  const Array last = max(until - 1, 0), is_new = (until > 0) & (take(taken, last, 0) == here);
  const Array from = where(is_new, number(n) + convert(take(order, last, 0), dtype), here - until);
  return take(concatenate({x, rows}, axis), from, axis, {.hints = {.unique = true}}).with_weak(given->weak());
}

Array without(const Operand& given, const Array& places, std::optional<std::int64_t> along) {
  constexpr std::string_view name = "without";
  const SourceScope place(given.where(), name);
  const auto [x, axis] = along_axis(name, given, along);
  require_integers(name, places);
  const Array at = in_a_row(places);
  const Dim n = elements_along(x, axis), count = at.shape()[0];
  const DType dtype = index_dtype(n);
  // Of the elements that stay, how many are gone before each: those whose place less the gone ones before is not
  // greater.
  const Array gone = sort(from_front(at, n, dtype)) - iota(dtype, {count}, 0);
  const Array left = iota(dtype, {n - count}, 0), before = searchsorted(gone, left, Side::right);
  return take(x, left + convert(before, dtype), axis, {.hints = {.sorted = true, .unique = true}})
      .with_weak(given->weak());
}

Array without(const Operand& given, std::span<const std::int64_t> places, std::optional<std::int64_t> along) {
  constexpr std::string_view name = "without";
  const SourceScope place(given.where(), name);
  const auto [x, axis] = along_axis(name, given, along);
  const Dim n = elements_along(x, axis);
  std::set<std::int64_t> gone(places.begin(), places.end());
  if (!n.known()) {
    if (!gone.empty() && *gone.begin() < 0 && *gone.rbegin() >= 0)
      throw UnsupportedError(fmt::format("{}: places {} and {} of {}, whose size is not known: they may be one.", name,
                                         *gone.begin(), *gone.rbegin(), x.type().text()),
                             "Count all of them from one end.");
  } else {
    gone.clear();
    for (const std::int64_t each : places) gone.insert(from_front(name, each, n.value(), x.type()));
  }
  // Few runs stay: parts of x one behind the other.
  constexpr std::size_t few = 8;
  if (gone.empty()) return x;
  if (gone.size() > few || (!n.known() && *gone.begin() < 0)) {
    Buffer distinct = Buffer::allocate(DType::i64, {static_cast<std::int64_t>(gone.size())});
    std::copy(gone.begin(), gone.end(), distinct.as<std::int64_t>());
    return without(Operand(x, given.where()), Array(distinct), axis).with_weak(given->weak());
  }
  std::vector<Array> parts;
  Dim begin = 0;
  const auto part = [&](const Dim& end, const Dim& next) {
    if (!(begin == end)) parts.push_back(slice_in_dim(x, begin, end, axis));
    begin = next;
  };
  for (const std::int64_t each : gone) part(each, each + 1);
  part(n, n);
  if (parts.empty()) parts.push_back(slice_in_dim(x, n, n, axis));
  return concatenate(parts, axis).with_weak(given->weak());
}

Array choose(const Operand& which, std::span<const Array> choices, ChooseMode mode) {
  constexpr std::string_view name = "choose";
  const SourceScope place(which.where(), name);
  if (choices.empty()) throw ShapeError("choose: there are no choices.", "Give one or more arrays.");
  if (!is_integer(which->dtype()) && which->dtype() != DType::bool_)
    throw DTypeError(fmt::format("{}: choices by {}.", name, which->type().text()), "Give integers.");
  const auto count = static_cast<std::int64_t>(choices.size());
  const Met met = in_one_dtype(choices);
  Array at = which->dtype() == DType::bool_ || size_of(which->dtype()) < 4 ? convert(which, DType::i32) : which.array();
  if (mode == ChooseMode::refuse) {
    if (at.traced() != nullptr)
      throw ConcretizationError(
          fmt::format("{}: with mode='raise' the values of the indices are asked for, and one is "
                      "traced.\n  In a compiled function say mode='wrap' or mode='clip'.",
                      name));
    if (any((at < 0) | (at >= count)).item<bool>())
      throw ShapeError(fmt::format("{}: invalid entry in choice array: one of {} is none of {} choices.", name,
                                   which->type().text(), count),
                       "Give 0 and up, or say what is chosen outside: clip or wrap.");
  }
  at = mode == ChooseMode::wrap ? remainder(at, count) : clamp(at, 0, count - 1);
  constexpr std::int64_t few = 32;
  std::vector<Array> given(met.operands.begin(), met.operands.end());
  given.push_back(at);
  const Shape wide = broadcast_shapes(name, given);
  given.pop_back();
  if (count <= few) {
    Array made = broadcast_to(given.back(), wide);
    for (std::int64_t i = count - 1; i-- > 0;) made = where(at == i, given[static_cast<std::size_t>(i)], made);
    return made.with_weak(met.weak);
  }
  for (Array& each : given) each = broadcast_to(each, wide);
  const Array chosen = take_along_axis(stack(given), expand_dims(broadcast_to(at, wide), 0), 0);
  return squeeze(chosen, 0).with_weak(met.weak);
}

namespace {

void require_places(std::string_view name, const Operand& x, std::span<const std::int64_t> places, std::int64_t axis) {
  const Dim n = elements_along(x, axis_of(name, x, axis));
  for (const std::int64_t each : places)
    if (n.known()) from_front(name, each, n.value(), x->type());
}

}  // namespace

Array partition(const Operand& x, std::span<const std::int64_t> places, std::int64_t axis) {
  const SourceScope place(x.where(), "partition");
  require_places("partition", x, places, axis);
  return sort(x, axis);
}
Array argpartition(const Operand& x, std::span<const std::int64_t> places, std::int64_t axis) {
  const SourceScope place(x.where(), "argpartition");
  require_places("argpartition", x, places, axis);
  return argsort(x, axis);
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
