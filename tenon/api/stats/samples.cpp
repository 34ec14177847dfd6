#include "tenon/api/samples.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/api/cumulative.h"
#include "tenon/api/reductions.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::stats {
namespace {

// x with the axis last; a number is a line of one.
struct Lines {
  Lines(std::string_view name, const Array& given, std::int64_t axis) {
    const Array whole = given.rank() == 0 ? reshape(given, {1}) : given;
    at = static_cast<std::int64_t>(normalize_axis(axis, whole.rank(), name));
    x = move_axis(whole, at, -1);
    scalar = given.rank() == 0;
  }
  Dim size() const { return x.shape()[x.rank() - 1]; }
  Array x;
  std::int64_t at = 0;
  bool scalar = false;
};

Array places_of(const Array& lines) {
  return broadcast_to(arange(lines.shape()[lines.rank() - 1], DType::i32), lines.shape());
}

// Of each element of a run the place of its first, or of its last one.
Array first_of_run(const Array& starts) { return cummax(where(starts, places_of(starts), 0)); }
Array last_of_run(const Array& starts) {
  const auto last = static_cast<std::int64_t>(starts.rank()) - 1;
  const Dim n = starts.shape()[starts.rank() - 1];
  const Array next = slice_in_dim(starts, 1, n, last),
              end = ones(slice_in_dim(starts, 0, 1, last).shape(), DType::bool_);
  const Array most(Scalar(std::numeric_limits<std::int32_t>::max()));
  return cummin(where(concatenate({next, end}, last), places_of(starts), most), -1, {.reverse = true});
}

}  // namespace

Mode mode(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where(), "stats::mode");
  const Lines lines("stats::mode", x, axis);
  if (lines.size() == Dim(0))
    throw ShapeError(fmt::format("stats::mode: axis {} of {} has no elements.", axis, x->type().text()),
                     "Give one at least.");
  const Array ordered = sort(lines.x), counts = places_of(ordered) - first_of_run(starts_of_runs(ordered)) + 1;
  const Array best = argmax(counts, Axes(-1).keepdims());
  const auto picked = [&](const Array& from) { return squeeze(take_along_axis(from, best, -1), -1); };
  return {picked(ordered), picked(counts)};
}

Array rankdata(const Operand& x, std::int64_t axis, Ties method, DType dtype) {
  const SourceScope place(x.where(), "stats::rankdata");
  const Lines lines("stats::rankdata", x, axis);
  if (!is_real(dtype))
    throw DTypeError(fmt::format("stats::rankdata: {} is not a real dtype.", name(dtype)), "Ask for f32 or f64.");
  const Array order = argsort(lines.x), back = argsort(order);
  Array ranks = convert(back + 1, dtype);
  if (method != Ties::ordinal && lines.size() != Dim(0)) {
    const Array starts = starts_of_runs(take_along_axis(lines.x, order, -1));
    const auto number = [&](const Array& n) { return convert(n, dtype); };
    const auto of_ordered = [&]() -> Array {
      if (method == Ties::dense) return number(cumsum(convert(starts, DType::i32)));
      if (method == Ties::least) return number(first_of_run(starts) + 1);
      if (method == Ties::greatest) return number(last_of_run(starts) + 1);
      return (number(first_of_run(starts) + 1) + number(last_of_run(starts) + 1)) / 2;
    };
    ranks = take_along_axis(of_ordered(), back, -1);
  }
  if (is_inexact(lines.x.dtype()))
    ranks = where(any(is_nan(lines.x), Axes(-1).keepdims()), std::numeric_limits<double>::quiet_NaN(), ranks);
  return lines.scalar ? reshape(ranks, Shape{}) : move_axis(ranks, -1, lines.at);
}

Array sem(const Operand& x, const Axes& axes, const SemOptions& options) {
  const SourceScope place(x.where(), "stats::sem");
  const Array values = to_inexact(x);
  const DType part = real_part_of(values.dtype());
  if (options.without_nan)
    return nanstd(values, axes, {.ddof = options.ddof}) / sqrt(sum(convert(!is_nan(values), part), axes));
  return stddev(values, axes, options.ddof) / sqrt(size_as_array(axes.count(values.type(), "stats::sem"), part));
}

}  // namespace tenon::stats
