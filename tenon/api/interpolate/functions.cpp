// Values between points of a line, and of a grid.
#include <fmt/format.h>

#include "tenon/api/interpolate.h"
#include "tenon/api/interpolate/corners.h"
#include "tenon/api/searchsorted.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::interpolate {
namespace {

Array positive_remainder(const Array& x, const Array& period) {
  const Array rest = x % period;
  return where((rest != 0) & ((rest < 0) != (period < 0)), rest + period, rest);
}
Array element(const Array& x, const Dim& i) { return squeeze(slice_in_dim(x, i, i + 1, 0), 0); }

struct Points {
  Array x, xp, fp;
};
// Points in order within a period, and the last and the first of them once more, a period away.
Points around_period(const Points& given, const Array& period) {
  const Array x = positive_remainder(given.x, period), xp = positive_remainder(given.xp, period);
  const Array order = argsort(xp), sorted = take(xp, order), values = take(given.fp, order);
  const Dim n = xp.shape()[0];
  const auto part = [](const Array& of, const Dim& from, const Dim& to) { return slice_in_dim(of, from, to, 0); };
  return {x, concatenate({part(sorted, n - 1, n) - period, sorted, part(sorted, 0, 1) + period}, 0),
          concatenate({part(values, n - 1, n), values, part(values, 0, 1)}, 0)};
}

void require_points(std::string_view name, const Array& x, const Array& xp, const Array& fp) {
  for (const Array* each : {&x, &xp})
    if (is_complex(each->dtype()))
      throw DTypeError(fmt::format("{}: complex numbers, {}, have no order.", name, each->type().text()),
                       "x and xp are real; fp may be complex.");
  const bool vectors = xp.rank() == 1 && fp.rank() == 1;
  if (!vectors || decided_equal(xp.shape()[0], fp.shape()[0]) == false || xp.shape()[0].try_value() == 0)
    throw ShapeError(fmt::format("{}: the points are {} and {}.", name, xp.type().text(), fp.type().text()),
                     "xp and fp are vectors of one size, and not empty.");
}

// The cell of the points g that x lies in, the first or the last where it lies outside, and how far in it.
struct Cell {
  Array below, above, part;
};
Cell cell_of(const Array& g, const Array& x, DType index) {
  const Array last = convert(size_as_array(g.shape()[0]), index) - 1;
  const Array below = clamp(convert(searchsorted(g, x), index) - 1, 0, max(last - 1, 0)), above = min(below + 1, last);
  const Array low = take(g, below), width = take(g, above) - low;
  const Array flat = width == 0;
  return {below, above, where(flat, zeros_like(width), (x - low) / where(flat, ones_like(width), width))};
}

}  // namespace

Array interp(const Operand& given, const Operand& at, const Operand& values, const InterpOptions& options) {
  constexpr std::string_view name = "interp";
  const SourceScope place(given.where(), name);
  const Met met = in_one_inexact_dtype(Arrays{given, at});
  Points points{met.operands[0], met.operands[1], {}};
  points.fp = in_one_dtype(Arrays{points.x, to_inexact(values)}).operands[1];
  require_points(name, points.x, points.xp, points.fp);
  const bool periodic = options.period.has_value();
  if (periodic) {
    if (options.period->rank() != 0)
      throw ShapeError(fmt::format("{}: the period is {}.", name, options.period->type().text()), "Give one number.");
    points = around_period(points, convert(*options.period, points.x.dtype()));
  }
  const auto& [x, xp, fp] = points;
  const Dim n = xp.shape()[0];
  const Array found = searchsorted(xp, x, Side::right);
  const Array i = clamp(found, 1, max(convert(size_as_array(n), found.dtype()) - 1, 1));
  const Array low = take(xp, i - 1), width = take(xp, i) - low, start = take(fp, i - 1);
  const Array flat = width == 0;
  const Array slope = (take(fp, i) - start) / where(flat, ones_like(width), width);
  Array made = where(flat, start, start + (x - low) * slope);
  if (periodic) return made;
  const auto beyond = [&](const Array& outside, const Array& edge, const std::optional<Array>& other) {
    made = where(outside, other ? *other : edge, made);
  };
  if (!options.extrapolate_left) beyond(x < element(xp, 0), element(fp, 0), options.left);
  if (!options.extrapolate_right) beyond(x > element(xp, n - 1), element(fp, n - 1), options.right);
  return made;
}

Array RegularGridInterpolator::operator()(const Operand& at) const {
  constexpr std::string_view name = "RegularGridInterpolator";
  const SourceScope where_from(at.where(), name);
  const Array grid = widened(to_inexact(values));
  if (points.size() > grid.rank())
    throw ShapeError(fmt::format("{}: {} vectors of points for values {}.", name, points.size(), values.type().text()),
                     "Values have an axis for each of them.");
  const std::size_t rank = at->rank();
  if (rank == 0 || at->shape()[rank - 1].try_value() != static_cast<std::int64_t>(points.size()))
    throw ShapeError(fmt::format("{}: {} coordinates of {} axes.", name, at->type().text(), points.size()),
                     "The last axis of the coordinates has one for each axis of the grid.");
  const DType index = index_dtype(grid.shape().elements());
  std::vector<std::vector<Place>> axes;
  MaybeArray outside;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const Array coordinate = squeeze(slice_in_dim(at, number, number + 1, -1), -1);
    const Met met = in_one_dtype(Arrays{widened(to_inexact(points[i])), widened(to_inexact(coordinate))});
    const Array &g = met.operands[0], &x = met.operands[1];
    if (g.rank() != 1 || decided_equal(g.shape()[0], grid.shape()[i]) == false || g.shape()[0].try_value() == 0)
      throw ShapeError(
          fmt::format("{}: points {} of axis {} of values {}.", name, points[i].type().text(), i, values.type().text()),
          "They are a vector of as many points as the axis has, and not empty.");
    const Cell cell = cell_of(g, x, index);
    if (between == Between::linear)
      axes.push_back({{cell.below, 1 - cell.part}, {cell.above, cell.part}});
    else
      axes.push_back({{where(cell.part <= convert(0.5, x.dtype()), cell.below, cell.above)}});
    const Array here = (x < element(g, 0)) | (x > element(g, g.shape()[0] - 1));
    outside = outside ? *outside | here : here;
  }
  Array made = sum_over_corners(grid, axes, zeros_like(Array(0.0)));
  if (fill && outside) {
    std::vector<Dim> dims = outside->shape().dims();
    dims.resize(made.rank(), Dim(1));
    made = where(reshape(*outside, Shape(dims)), convert(*fill, made.dtype()), made);
  }
  return made;
}

}  // namespace tenon::interpolate
