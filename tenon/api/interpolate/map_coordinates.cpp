#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/interpolate/corners.h"
#include "tenon/api/jit.h"
#include "tenon/api/ndimage.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

using interpolate::Place;
using ndimage::Beyond;

Array rounded_away(const Array& x) {  // halves away from 0
  const Array size = abs(x), whole = floor(size);
  return where(is_finite(x), sign(x) * where(size - whole >= convert(0.5, x.dtype()), whole + 1, whole), x);
}
Array remainder_of(const Array& x, const Array& n) {  // of n ≥ 1: from 0 to n - 1
  const Array rest = x % n;
  return where(rest < 0, rest + n, rest);
}

// The element that stands at an index beyond the ends.
Array moved_inside(const Array& index, const Array& n, Beyond beyond) {
  switch (beyond) {
    case Beyond::constant:
      return index;
    case Beyond::nearest:
      return clamp(index, 0, n - 1);
    case Beyond::wrap:
      return remainder_of(index, n);
    case Beyond::mirror: {
      const Array period = max(2 * (n - 1), 1), at = remainder_of(index, period);
      return min(at, 2 * (n - 1) - at);
    }
    case Beyond::reflect: {
      const Array at = remainder_of(index, 2 * n);
      return min(at, 2 * n - 1 - at);
    }
  }
  return index;
}
Place place_of(const Array& index, MaybeArray weight, const Array& n, Beyond beyond) {
  Place place{moved_inside(index, n, beyond), std::move(weight)};
  if (beyond == Beyond::constant) place.there = (index >= 0) & (index < n);
  return place;
}

// The places that coordinates along an axis of n elements read.
std::vector<Place> places_of(const Array& at, const Dim& n, DType index, const ndimage::MapOptions& options) {
  const Array size = convert(size_as_array(n), index);
  if (!is_inexact(at.dtype())) return {place_of(convert(at, index), std::nullopt, size, options.mode)};
  if (options.order == 0) return {place_of(convert(rounded_away(at), index), std::nullopt, size, options.mode)};
  const Array below = floor(at), above_by = at - below, first = convert(below, index);
  return {place_of(first, 1 - above_by, size, options.mode), place_of(first + 1, above_by, size, options.mode)};
}

// Outside of traces it is compiled.
struct Mapped {
  Array operator()(const Array& x, const Arrays& at, const ndimage::MapOptions& options) const {
    std::vector<std::vector<Place>> axes;
    for (std::size_t i = 0; i < x.rank(); ++i)
      axes.push_back(places_of(widened(at[i]), x.shape()[i], index_dtype(x.shape().elements()), options));
    const Array elements = x.dtype() == DType::bool_ ? convert(x, DType::i32) : widened(x);
    Array made = sum_over_corners(elements, axes, convert(options.fill, elements.dtype()));
    if (!is_inexact(x.dtype()) && is_inexact(made.dtype())) made = rounded_away(made);
    return convert(made, x.dtype());
  }
};
Lasting<Jitted<Mapped>> compiled_map;

}  // namespace

Array ndimage::map_coordinates(const Operand& given, std::span<const Array> coordinates, const MapOptions& options) {
  constexpr std::string_view name = "map_coordinates";
  const SourceScope place(given.where(), name);
  const Array x = given.array();
  if (coordinates.size() != x.rank())
    throw ShapeError(fmt::format("{}: {} coordinates for the axes of {}.", name, coordinates.size(), x.type().text()),
                     "Give one array for each axis.");
  if (options.order != 0 && options.order != 1)
    throw UnsupportedError(fmt::format("{}: splines of order {}.", name, options.order), "Give the order 0 or 1.");
  for (const Array& at : coordinates)
    if (is_complex(at.dtype()) || at.dtype() == DType::bool_)
      throw DTypeError(fmt::format("{}: coordinates {}.", name, at.type().text()),
                       "They are real numbers or integers.");
  const Shape points = broadcast_shapes(name, coordinates);
  const bool without = std::ranges::any_of(x.shape().dims(), [](const Dim& n) { return n.try_value() == 0; });
  const Array fill = convert(options.fill, x.dtype());
  if (without && options.mode == Beyond::constant) return broadcast_to(fill, points);
  if (without)
    throw ShapeError(fmt::format("{}: {} has no elements.", name, x.type().text()),
                     "Give at least one along every axis, or a constant outside.");
  const Arrays at(coordinates.begin(), coordinates.end());
  const ndimage::MapOptions known{options.order, options.mode, fill};
  if (tracing()) return Mapped()(x, at, known);
  return compiled_map.get([] { return jit(Mapped(), {}, Source()); })(x, at, known);
}

}  // namespace tenon
