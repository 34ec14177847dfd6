#include "tenon/ops/composites/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/indexing/index_axes.h"
#include "tenon/ops/indexing/points.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// What is taken along one axis of the operand, after new axes were put in: count elements from start on, every step-th
// (a number: one, whose axis goes), or those that an index array names.
struct Taken {
  enum class Kind : std::uint8_t { range, number, points } kind = Kind::range;
  Dim start = 0, count = 1;
  std::int64_t step = 1;
  Array points = {};

  bool whole(const Dim& n) const { return kind == Kind::range && start == Dim(0) && count == n && step == 1; }
};

// An index, resolved: the operand with its new axes, and what is taken along each.
struct Resolved {
  std::string_view name;
  Array x;
  std::vector<Taken> taken;

  bool points() const {
    return std::ranges::any_of(taken, [](const Taken& t) { return t.kind == Taken::Kind::points; });
  }
};

// The place of an index among n: negative ones count from the end. Of a size that only running tells,
// 1 - min(max(i + 1, 0), 1) is 1 of negative ones and 0 of others.
Dim place_of(const Dim& given, const Dim& n) {
  if (const auto negative = decided_less(given, Dim(0))) return *negative ? n + given : given;
  return given + n * (Dim(1) - min(max(given + Dim(1), 0), 1));
}

Dim inside(const Dim& given, const Dim& lowest, const Dim& highest, const Dim& n) {
  return max(min(place_of(given, n), highest), lowest);
}

Taken taken_by_slice(std::string_view name, const Slice& s, const Dim& n) {
  if (s.step == 0) throw ShapeError(fmt::format("{}: a slice with step 0.", name), "Steps are positive or negative.");
  const bool forward = s.step > 0;
  const Dim lowest = forward ? 0 : -1, highest = forward ? n : n - Dim(1);
  const Dim start = s.start ? inside(*s.start, lowest, highest, n) : forward ? lowest : highest;
  const Dim stop = s.stop ? inside(*s.stop, lowest, highest, n) : forward ? highest : lowest;
  const Dim length = forward ? stop - start : start - stop, step = forward ? s.step : -s.step;
  return {Taken::Kind::range, start, max(floor_div(length + step - Dim(1), step), 0), s.step};
}

Taken taken_by_number(std::string_view name, const Dim& number, std::size_t axis, const Type& x) {
  const Dim& n = x.shape[axis];
  const Dim at = place_of(number, n);
  if (at.known() && (at.value() < 0 || (n.known() && at.value() >= n.value())))
    throw ShapeError(fmt::format("{}: {} lies outside of axis {} of {}.", name, number.text(), axis, x.text()),
                     n == Dim(0) ? "The axis has no elements."
                     : n.known() ? fmt::format("Its elements are 0 to {}, or {} to -1 from the end; a slice is moved "
                                               "inside.",
                                               n.value() - 1, -n.value())
                                 : "");
  const auto what = [&] {
    return fmt::format("{}: {} lies outside of axis {} of {}.", name, number.text(), axis, x.text());
  };
  require_at_most(Dim(0), at, what);
  require_at_most(at + Dim(1), n, what);
  return {Taken::Kind::number, at, 1};
}

bool is_mask(const IndexPart& part) {
  const auto* array = std::get_if<Array>(&part.form());
  return array != nullptr && array->dtype() == DType::bool_;
}

// Axes of the operand that a part speaks of; one bool speaks of none.
std::size_t axes_of(const IndexPart& part) {
  if (std::holds_alternative<NewAxis>(part.form()) || std::holds_alternative<Ellipsis>(part.form())) return 0;
  return is_mask(part) ? std::get<Array>(part.form()).rank() : 1;
}

void require_mask_fits(std::string_view name, const Array& mask, const Type& x, std::size_t axis) {
  const Shape shape = mask.shape();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const Dim &m = shape[i], &n = x.shape[axis + i];
    if (m.known() && n.known() && m != n && m != Dim(0))  // a mask without elements names none
      throw ShapeError(fmt::format("{}: the mask {} does not have the sizes of {} from axis {} on.", name,
                                   mask.type().text(), x.text(), axis),
                       "A mask has the sizes of the axes that it indexes.");
  }
}

Resolved resolve(std::string_view name, const Array& x, std::span<const IndexPart> parts) {
  const Type type = x.type();
  if (!type.is_array())
    throw DTypeError(fmt::format("{}: {} is not an array.", name, type.text()), "Stack the list first.");
  std::size_t named = 0, ellipses = 0;
  for (const IndexPart& part : parts) {
    named += axes_of(part);
    ellipses += std::holds_alternative<Ellipsis>(part.form()) ? 1 : 0;
  }
  if (ellipses > 1) throw ShapeError(fmt::format("{}: the index has {} ellipses.", name, ellipses), "One is decided.");
  if (named > type.rank())
    throw ShapeError(fmt::format("{}: the index names {} axes, {} has {}.", name, named, type.text(), type.rank()),
                     "Leave parts out: axes behind the last part stay whole. newaxis makes an axis.");
  std::vector<Taken> taken;
  std::vector<Dim> dims;
  std::size_t axis = 0;
  const auto add = [&](Taken t) {
    taken.push_back(std::move(t));
    dims.push_back(type.shape[axis++]);
  };
  const auto rest = [&](std::size_t until) {
    while (axis < until) add({Taken::Kind::range, 0, type.shape[axis]});
  };
  std::size_t left = named;
  for (const IndexPart& part : parts) {
    left -= axes_of(part);
    if (std::holds_alternative<NewAxis>(part.form())) {
      taken.push_back({});
      dims.emplace_back(1);
    } else if (std::holds_alternative<Ellipsis>(part.form())) {
      rest(type.rank() - left);
    } else if (const auto* s = std::get_if<Slice>(&part.form())) {
      add(taken_by_slice(name, *s, type.shape[axis]));
    } else if (const auto* number = std::get_if<Dim>(&part.form())) {
      add(taken_by_number(name, *number, axis, type));
    } else if (is_mask(part)) {
      const Array& mask = std::get<Array>(part.form());
      require_mask_fits(name, mask, type, axis);
      if (mask.rank() == 0) {  // a new axis, with its element or without
        taken.push_back({Taken::Kind::points, 0, 1, 1, nonzero(reshape(mask, {1}))[0]});
        dims.emplace_back(1);
      } else {
        for (const Array& at : nonzero(mask)) add({Taken::Kind::points, 0, 1, 1, at});
      }
    } else if (const auto* array = std::get_if<Array>(&part.form())) {
      add({Taken::Kind::points, 0, 1, 1, *array});
    } else {
      add({Taken::Kind::range, 0, type.shape[axis]});
    }
  }
  rest(type.rank());
  return {name, reshape(x, Shape(std::move(dims))), std::move(taken)};
}

// A mask with elements that is the whole index.
const Array* only_mask(std::span<const IndexPart> parts) {
  if (parts.size() != 1 || !is_mask(parts[0])) return nullptr;
  const Array& mask = std::get<Array>(parts[0].form());
  return mask.rank() > 0 && mask.shape().elements() == Dim(0) ? nullptr : &mask;
}

// The ranges and numbers of an index taken, as one slice; axes of index arrays stay whole.
Array ranges_of(const Resolved& index) {
  const Shape shape = index.x.shape();
  std::vector<Dim> starts, limits;
  std::vector<std::int64_t> strides, backwards;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const Taken& t = index.taken[i];
    if (t.kind == Taken::Kind::points) {
      starts.emplace_back(0), limits.push_back(shape[i]), strides.push_back(1);
      continue;
    }
    strides.push_back(std::abs(t.step));
    if (t.step > 0) {
      starts.push_back(t.start);
      limits.push_back(t.step == 1 ? t.start + t.count : max(t.start, min(t.start + t.count * Dim(t.step), shape[i])));
    } else {  // the same elements in ascending order, then reversed
      limits.push_back(t.start + Dim(1));
      starts.push_back(min(t.start - (t.count - Dim(1)) * Dim(-t.step), limits.back()));
      backwards.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (std::ranges::all_of(starts, [](const Dim& start) { return start == Dim(0); }) && limits == shape.dims() &&
      std::ranges::all_of(strides, [](std::int64_t s) { return s == 1; }))
    return backwards.empty() ? index.x : reverse(index.x, backwards);
  const Array part = slice_inside(index.x, std::move(starts), std::move(limits), std::move(strides));
  return backwards.empty() ? part : reverse(part, backwards);
}

// The shape without the axes of numbers, and of index arrays.
Shape without_numbers(const Shape& shape, const std::vector<Taken>& taken) {
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (taken[i].kind == Taken::Kind::range) dims.push_back(shape[i]);
  return Shape(std::move(dims));
}

Array as_array(const Dim& number) {
  return number.known() ? Array(Scalar(number.value())) : size_as_array(number).with_weak(false);
}

// Index arrays with their axes; numbers beside them are arrays too.
std::pair<Arrays, std::vector<std::int64_t>> points_of(const Resolved& index) {
  std::pair<Arrays, std::vector<std::int64_t>> points;
  for (std::size_t i = 0; i < index.taken.size(); ++i) {
    const Taken& t = index.taken[i];
    if (t.kind == Taken::Kind::range) continue;
    points.first.push_back(t.kind == Taken::Kind::points ? t.points : as_array(t.start));
    points.second.push_back(static_cast<std::int64_t>(i));
  }
  return points;
}

bool one_point(const Resolved& index) {
  return std::ranges::all_of(index.taken,
                             [](const Taken& t) { return t.kind != Taken::Kind::points || t.points.rank() == 0; });
}

Array whole_part(const Resolved& index, const Array& x, std::vector<Taken>& taken) {
  // Numbers beside index arrays are points; what is left to slice are the ranges.
  Resolved ranges{index.name, x, taken};
  for (Taken& t : ranges.taken)
    if (t.kind == Taken::Kind::number) t = {Taken::Kind::points, 0, 1, 1, as_array(t.start)};
  const Array part = ranges_of(ranges);
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (taken[i].kind == Taken::Kind::range) taken[i] = {Taken::Kind::range, 0, part.shape()[i]};
  return part;
}

Array element_at(const Resolved& index) {
  Arrays starts;
  std::vector<Dim> sizes;
  const Shape shape = index.x.shape();
  for (std::size_t i = 0; i < index.taken.size(); ++i) {
    const Taken& t = index.taken[i];
    starts.push_back(t.kind == Taken::Kind::points ? from_end(index.name, t.points, shape[i]) : as_array(t.start));
    sizes.push_back(t.kind == Taken::Kind::range ? shape[i] : Dim(1));
  }
  const Array part = dynamic_slice(index.x, starts, std::move(sizes));
  return reshape(part, without_numbers(part.shape(), index.taken));
}

// Whether b's sizes are those of a's last axes, or 1.
bool broadcasts(const Shape& b, const Shape& a) {
  if (b.rank() > a.rank()) return false;
  for (std::size_t i = 0; i < b.rank(); ++i) {
    const Dim &have = b[i], &want = a[a.rank() - b.rank() + i];
    if (have != want && have != Dim(1) && have.known() && want.known()) return false;
  }
  return true;
}

Array fitted(std::string_view name, const Array& value, const Shape& wanted, const Array& x) {
  if (!broadcasts(value.shape(), wanted))
    throw ShapeError(fmt::format("{}: {} does not broadcast to {}, what the index names of {}.", name,
                                 value.type().text(), wanted.text(), x.type().text()),
                     "Sizes are equal or 1, counted from the last axis.");
  return broadcast_to(value, wanted);
}

// A block put where the ranges of the index (of step 1) and its numbers say.
Array with_block(const Resolved& index, const Array& block) {
  if (block.shape() == index.x.shape()) return block;
  Arrays starts;
  for (const Taken& t : index.taken) starts.push_back(as_array(t.start));
  return dynamic_update_slice(index.x, block, starts);
}

// x with value there. Steps other than 1 are index arrays; ranges beside index arrays are a block of their own.
Array put(ScatterKind kind, const Resolved& index, const Array& value, const ScatterOptions& options) {
  const Shape shape = index.x.shape();
  for (std::size_t i = 0; i < index.taken.size(); ++i) {
    const Taken& t = index.taken[i];
    if (t.step == 1) continue;
    Resolved one{index.name, index.x, {}};
    for (const Dim& n : shape) one.taken.push_back({Taken::Kind::range, 0, n});
    one.taken[i] = t;
    Resolved rest{index.name, ranges_of(one), index.taken};
    rest.taken[i] = {Taken::Kind::range, 0, t.count};
    const Array places[] = {arange(t.count, DType::i64) * Array(Scalar(t.step)) + as_array(t.start)};
    return scatter_at(ScatterKind::set, index.x, places, {static_cast<std::int64_t>(i)},
                      put(kind, rest, value, options), {IndexMode::promise_in_bounds, {t.step > 0, true}});
  }
  if (!index.points()) {
    Shape block = shape;
    for (std::size_t i = 0; i < index.taken.size(); ++i) block[i] = index.taken[i].count;
    Array part = reshape(fitted(index.name, value, without_numbers(block, index.taken), index.x), block);
    if (kind != ScatterKind::set) part = combined_with(kind, ranges_of(index), part);
    return with_block(index, part);
  }
  std::vector<Taken> inner = index.taken;
  const Array part = whole_part(index, index.x, inner);
  const Resolved there{index.name, part, inner};
  const auto [points, axes] = points_of(there);
  const PointForm form = point_form(index.name, part, points, axes);
  ScatterOptions chosen = options;
  if (one_point(there)) chosen.hints = {true, true};
  const Array rows = fitted(index.name, value, form.result, index.x);
  // All of an empty array lies outside.
  Array next = part.shape().elements() == Dim(0) ? part : scatter(kind, part, form.vectors, rows, form.axes, chosen);
  if (part.shape() == shape) return next;
  Resolved block{index.name, index.x, index.taken};
  for (std::size_t i = 0; i < block.taken.size(); ++i)
    if (block.taken[i].kind != Taken::Kind::range) block.taken[i] = {Taken::Kind::range, 0, shape[i]};
  return with_block(block, next);
}

// The operand cut to the windows of an index, where they start, and the index with ranges in their places.
struct Windows {
  Array x, part;
  Arrays starts;
  Array inside;  // whether no window was moved
  std::vector<IndexPart> parts;

  Array put(const Array& next) const { return dynamic_update_slice(x, where(inside, next, part), starts); }
};

bool has_windows(std::span<const IndexPart> parts) {
  return std::ranges::any_of(parts, [](const IndexPart& p) { return std::holds_alternative<Window>(p.form()); });
}

// How many elements a window spans.
Dim span_of(std::string_view name, const Window& w, const Dim& n) {
  const std::int64_t most = n.try_value().value_or(std::numeric_limits<std::int64_t>::max()),
                     size = w.size.try_value().value_or(0);
  const bool fits = size <= most && (size < 2 || w.step <= (most - 1) / (size - 1));
  const auto what = [&] {
    return fmt::format("{}: a window of {} elements in steps of {} from {} on, along an axis of {}.", name,
                       w.size.text(), w.step, w.start.type().text(), n.text());
  };
  if (size < 0 || w.step < 1 || w.start.rank() != 0 || !fits)
    throw ShapeError(what(), "It starts at one integer, has no more elements than the axis, and a step from 1 on.");
  if (w.size.known()) return size > 0 ? (size - 1) * w.step + 1 : 0;
  const Dim span = w.step == 1 ? w.size : max((w.size - Dim(1)) * Dim(w.step) + Dim(1), 0);
  require_at_most(Dim(0), w.size, what);
  require_at_most(span, n, what);
  return span;
}

Windows windows_of(std::string_view name, const Array& x, std::span<const IndexPart> parts) {
  std::size_t named = 0;
  for (const IndexPart& part : parts) named += axes_of(part);
  const Type type = x.type();
  if (named > type.rank())
    throw ShapeError(fmt::format("{}: the index names {} axes, {} has {}.", name, named, type.text(), type.rank()));
  Windows made{
      x, {}, Arrays(type.rank(), Array(Scalar(std::int64_t{0}))), Array(Scalar(true)), {parts.begin(), parts.end()}};
  std::vector<Dim> sizes = type.shape.dims();
  std::size_t axis = 0;
  for (IndexPart& part : made.parts) {
    if (std::holds_alternative<Ellipsis>(part.form())) axis += type.rank() - named;
    const std::size_t here = axis;
    axis += axes_of(part);
    const auto* window = std::get_if<Window>(&part.form());
    if (window == nullptr) continue;
    const Dim n = sizes[here];
    const Dim extent = span_of(name, *window, n);
    const Array start = convert(from_end(name, window->start, n), DType::i64);
    made.starts[here] = start;
    made.inside = made.inside & (start >= 0) & (start <= convert(size_as_array(n - extent), DType::i64));
    sizes[here] = extent;
    part = IndexPart(slice(std::nullopt, std::nullopt, window->step), part.where());
  }
  made.part = dynamic_slice(x, made.starts, std::move(sizes));
  return made;
}

constexpr std::string_view update_names[] = {"x.at(…).set", "x.at(…).add", "x.at(…).mul", "x.at(…).min", "x.at(…).max"};

}  // namespace

IndexPart::IndexPart(const Array& array, const Source& where) : where_(where) {
  const Scalar* number = array.weak() ? array.number() : nullptr;
  if (number != nullptr && is_integer(number->dtype()))
    form_ = Dim(number->convert(DType::i64).as<std::int64_t>());
  else
    form_ = array;
}

Array index(const Operand& x, std::span<const IndexPart> parts, const GatherOptions& options) {
  constexpr std::string_view name = "x(…)";
  const SourceScope place(x.where(), name);
  if (has_windows(parts)) {
    const Windows windows = windows_of(name, x, parts);
    return index(windows.part, windows.parts, options);
  }
  if (const Array* mask = only_mask(parts); mask != nullptr && mask->rank() > 0 && x->type().is_array()) {
    if (axes_of(parts[0]) <= x->rank()) {
      require_mask_fits(name, *mask, x->type(), 0);
      return compress(x, *mask);
    }
  }
  Resolved at = resolve(name, x, parts);
  if (!at.points()) {
    const Array block = ranges_of(at);
    return reshape(block, without_numbers(block.shape(), at.taken));
  }
  at.x = whole_part(at, at.x, at.taken);
  if (options.mode == IndexMode::clip && one_point(at)) return element_at(at);
  const auto [points, axes] = points_of(at);
  const PointForm form = point_form(name, at.x, points, axes);
  return gather(at.x, form.vectors, form.axes, form.slice_sizes, options);
}

Array update_at(ScatterKind kind, const Operand& x, std::span<const IndexPart> parts, const Operand& value,
                const ScatterOptions& options) {
  const std::string_view name = update_names[static_cast<std::size_t>(kind)];
  const SourceScope place(x.where(), name);
  if (has_windows(parts)) {
    const Windows windows = windows_of(name, x, parts);
    return windows.put(update_at(kind, windows.part, windows.parts, value, options));
  }
  const Array y = convert_into(name, x, value);
  // What does not vary along the masked axes is chosen in place; other values need to know how many there are.
  if (const Array* mask = only_mask(parts); mask != nullptr && axes_of(parts[0]) <= x->rank()) {
    require_mask_fits(name, *mask, x->type(), 0);
    Shape rest = x->shape(), wide = mask->shape();
    for (std::size_t i = 0; i < mask->rank(); ++i) rest = rest.without_axis(0);
    for (std::size_t i = 0; i < rest.rank(); ++i) wide.push_back(1);
    if (y.rank() <= rest.rank() && broadcasts(y.shape(), rest))
      return where(reshape(*mask, wide), combined_with(kind, x, y), x);
  }
  const Resolved at = resolve(name, x, parts);
  return reshape(put(kind, at, y, options), x->shape());
}

}  // namespace tenon
