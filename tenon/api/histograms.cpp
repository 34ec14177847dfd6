#include "tenon/api/histograms.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/grids.h"
#include "tenon/api/searchsorted.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Array edge_at(const Array& edges, const Dim& i) { return squeeze(slice_in_dim(edges, i, i + 1, 0), 0); }
Dim number_of_bins(const Array& edges) { return edges.shape()[0] - 1; }
Array widths_of(const Array& edges) {
  const Dim n = number_of_bins(edges);
  return slice_in_dim(edges, 1, n + 1, 0) - slice_in_dim(edges, 0, n, 0);
}

void require_as_many(std::string_view name, const Array& x, const Array& weights) {
  if (decided_equal(weights.shape().elements(), x.shape().elements()) == false)
    throw ShapeError(fmt::format("{}: weights {} of {}.", name, weights.type().text(), x.type().text()),
                     "Give one for each element.");
}

// The number of the bin of each of a vector's elements, i32, and whether it lies in one.
struct InBins {
  Array bin, inside;
};
InBins in_bins(const Array& x, const Array& edges) {
  const Dim n = number_of_bins(edges);
  const Array count = size_as_array(n, DType::i32);
  const Array found = convert(searchsorted(edges, x, Side::right), DType::i32) - 1;
  const Array bin = where(x == edge_at(edges, n), count - 1, found);  // the last border belongs to the last bin
  return {bin, (bin >= 0) & (bin < count)};
}

}  // namespace

Array bincount(const Operand& given, const BincountOptions& options) {
  constexpr std::string_view name = "bincount";
  const SourceScope place(given.where(), name);
  const Array x = given->dtype() == DType::bool_ ? convert(given, DType::i32) : Array(given);
  if (x.rank() != 1)
    throw ShapeError(fmt::format("{}: {}; only 1-dimensional input supported.", name, x.type().text()),
                     "Count reshape(x, {-1}), or rows by vmap with a length.");
  if (!is_integer(x.dtype()))
    throw DTypeError(fmt::format("{}: {} is not of integers.", name, x.type().text()), "Convert it to i32.");
  if (options.weights) require_as_many(name, x, *options.weights);
  const auto found = [&] {
    if (x.shape()[0].try_value() == 0) return Dim(options.minlength);
    return array_as_size(max(convert(amax(x), DType::i64) + 1, options.minlength));
  };
  const Dim length = options.length ? *options.length : found();
  const Array counts = zeros({length}, options.weights ? options.weights->dtype() : DType::i32);
  const Array at = is_signed_integer(x.dtype()) ? max(x, 0) : x;
  return scatter_add(counts, at, options.weights ? in_a_row(*options.weights) : ones(x.shape(), DType::i32));
}

Array histogram_bin_edges(const Operand& given, const Bins& bins, const BinRange& range) {
  constexpr std::string_view name = "histogram_bin_edges";
  const SourceScope place(given.where(), name);
  if (const Array* edges = bins.edges()) {
    if (edges->rank() != 1)
      throw ShapeError(fmt::format("{}: the borders {} are no vector.", name, edges->type().text()),
                       "Give a number of bins, or borders in ascending order.");
    return to_inexact(*edges);
  }
  if (decided_less(*bins.count(), 0) == true)
    throw ShapeError(fmt::format("{}: of {} there are {} bins.", name, given->type().text(), bins.count()->text()),
                     "Give a number that is at least 0, or borders in ascending order.");
  if (!range && given->shape().elements().try_value() == 0)
    throw ShapeError(fmt::format("{}: {} has no smallest and no largest element.", name, given->type().text()),
                     "Give a range.");
  const DType d = to_inexact(given).dtype();
  if (is_complex(d))
    throw DTypeError(fmt::format("{}: complex numbers, {}, have no order.", name, given->type().text()),
                     "Take that of real(x) and imag(x).");
  const Array low = convert(range ? range->first : amin(given), d),
              high = convert(range ? range->second : amax(given), d);
  const Array same = low == high;
  return linspace(where(same, low - 0.5, low), where(same, high + 0.5, high), *bins.count() + 1);
}

Histogram histogram(const Operand& given, const Bins& bins, const HistogramOptions& options) {
  constexpr std::string_view name = "histogram";
  const SourceScope place(given.where(), name);
  Array x = in_a_row(given);
  MaybeArray weights;
  if (options.weights) {
    require_as_many(name, x, *options.weights);
    const Met met = in_one_dtype(Arrays{x, in_a_row(*options.weights)});
    x = to_inexact(met.operands[0]), weights = to_inexact(met.operands[1]);
  }
  const Array edges = histogram_bin_edges(x, bins, options.range);
  const Array each = weights ? *weights : ones(x.shape(), to_inexact(x).dtype());
  const InBins found = in_bins(x, edges);
  Array counts = bincount(where(found.inside, found.bin, 0),
                          {.weights = where(found.inside, each, 0), .length = number_of_bins(edges)});
  if (options.density) counts = counts / widths_of(edges) / sum(counts);
  return {counts, edges};
}

HistogramOfAxes histogramdd(const Operand& points, std::span<const Bins> bins, const HistogramddOptions& options) {
  constexpr std::string_view name = "histogramdd";
  const SourceScope place(points.where(), name);
  const Array& x = points.array();
  if (x.rank() != 2)
    throw ShapeError(fmt::format("{}: points are an array [n, axes], not {}.", name, x.type().text()),
                     "Stack the coordinates: stack({x, y}, 1).");
  const auto axes = static_cast<std::size_t>(x.size(1));
  if (bins.size() != axes || (!options.ranges.empty() && options.ranges.size() != axes))
    throw ShapeError(
        fmt::format("{}: {} bins and {} ranges for {} axes.", name, bins.size(), options.ranges.size(), axes),
        "Give one for each axis.");
  const Dim n = x.shape()[0];
  if (options.weights && (options.weights->rank() != 1 || decided_equal(options.weights->shape()[0], n) == false))
    throw ShapeError(fmt::format("{}: weights {} of points {}.", name, options.weights->type().text(), x.type().text()),
                     "Give one weight for each point.");
  HistogramOfAxes made;
  Array number = zeros({n}, DType::i32), inside = full({n}, Array(Scalar(true)));
  Dim total = 1;
  std::vector<Dim> sizes;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const Array coordinate = squeeze(slice_in_dim(x, axis, axis + 1, 1), 1);
    const Array edges =
        histogram_bin_edges(coordinate, bins[i], options.ranges.empty() ? BinRange() : options.ranges[i]);
    const InBins found = in_bins(coordinate, edges);
    sizes.push_back(number_of_bins(edges));
    total = total * sizes.back();
    number = number * size_as_array(sizes.back(), DType::i32) + found.bin;
    inside = inside & found.inside;
    made.edges.push_back(edges);
  }
  // What lies outside is counted behind all bins.
  const Array where_to = where(inside, number, size_as_array(total, DType::i32));
  const Array counts = bincount(where_to, {.weights = options.weights, .length = total + 1});
  made.counts = reshape(slice_in_dim(counts, 0, total, 0), Shape(sizes));
  if (options.density) {
    made.counts = convert(made.counts, to_inexact(x).dtype());
    made.counts = made.counts / sum(made.counts);
    for (std::size_t i = 0; i < axes; ++i) made.counts = made.counts / along_axis(widths_of(made.edges[i]), i, axes);
  }
  return made;
}
HistogramOfAxes histogramdd(const Operand& points, const Bins& bins, const HistogramddOptions& options) {
  const SourceScope place(points.where(), "histogramdd");
  const std::int64_t axes = points->rank() == 2 ? points->size(1) : 1;
  return histogramdd(points, std::vector<Bins>(static_cast<std::size_t>(axes), bins), options);
}
HistogramOfAxes histogram2d(const Operand& x, const Operand& y, const Bins& bins, const HistogramddOptions& options) {
  const SourceScope place(x.where(), "histogram2d");
  const Met met = in_one_dtype(Arrays{in_a_row(x), in_a_row(y)});
  return histogramdd(stack(met.operands, 1), bins, options);
}

Array digitize(const Operand& x, const Operand& bins, bool right) {
  constexpr std::string_view name = "digitize";
  const SourceScope place(x.where(), name);
  if (bins->rank() != 1)
    throw ShapeError(fmt::format("{}: the borders {} are no vector.", name, bins->type().text()), "Give one axis.");
  const Dim n = bins->shape()[0];
  if (n.try_value() == 0) return zeros(x->shape(), DType::i32);
  const auto found = [&](const Array& borders) {
    return convert(searchsorted(borders, x, right ? Side::left : Side::right), DType::i32);
  };
  const Array rising = found(bins), falling = size_as_array(n, DType::i32) - found(reverse(bins, {0}));
  return where(edge_at(bins, n - 1) >= edge_at(bins, 0), rising, falling);
}

}  // namespace tenon
