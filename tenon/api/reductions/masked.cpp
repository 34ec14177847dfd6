// Reductions under a mask, with initial values and weights.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tenon/api/reductions.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/order.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr double no_mean = std::numeric_limits<double>::quiet_NaN();

Array rounded_to(const Array& x, DType d) { return is_narrow(d) ? convert(x, d) : x; }

// x where the mask holds, else what leaves the result as it is.
Array counting(std::string_view op, const Array& x, const MaybeArray& mask, const Array& otherwise) {
  if (!mask) return x;
  if (mask->dtype() != DType::bool_)
    throw DTypeError(fmt::format("{}: where must be a boolean array, not {}.", op, mask->type().text()),
                     "Compare: x != 0.");
  return where(*mask, x, otherwise);
}

void require_number(std::string_view op, const MaybeArray& initial) {
  if (initial && initial->rank() != 0)
    throw ShapeError(fmt::format("{}: the initial value must be a scalar, not {}.", op, initial->type().text()),
                     "Give one number.");
}

Array in_dtype(const Array& x, const std::optional<DType>& dtype) {
  return dtype ? convert(x, *dtype).with_weak(false) : x;
}

using OfAll = Array (*)(const Operand& x, const Axes& axes);
using OfBoth = Array (*)(const Operand& x, const Operand& y);

Array summed(std::string_view op, OfAll f, OfBoth combine, int unit, const Operand& given, const Axes& axes,
             const ReduceOptions& options) {
  const SourceScope place(given.where(), op);
  require_number(op, options.initial);
  const Array x = in_dtype(given, options.dtype);
  const Array made = f(counting(op, x, options.where, Array(Scalar(unit).convert(x.dtype()))), axes);
  const Array whole = options.initial ? combine(made, convert(*options.initial, made.dtype())) : made;
  return in_dtype(whole, options.dtype);
}

Array largest_or_smallest(std::string_view op, OfAll f, OfBoth combine, const Operand& given, const Axes& axes,
                          const ReduceOptions& options) {
  const SourceScope place(given.where(), op);
  require_number(op, options.initial);
  if (options.where && !options.initial)
    throw ShapeError(fmt::format("{}: with `where` an initial value is needed.", op),
                     "The mask may hold nowhere: say by .initial what the result is then.");
  Array x = in_dtype(given, options.dtype);
  if (options.initial) {
    const Array initial = convert(*options.initial, x.dtype());
    x = counting(op, x, options.where, initial);
    // Extrema of no elements there are none.
    return axes.count(x.type(), op).try_value() == 0 ? full(axes.results(x.type(), op), initial)
                                                     : combine(f(x, axes), initial);
  }
  return f(x, axes);
}

// How many elements count, of the shape of the result.
Array counted(std::string_view op, const Array& x, const Axes& axes, const MaybeArray& mask) {
  if (mask) return sum(broadcast_to(*mask, x.shape()), axes);
  return size_as_array(axes.count(x.type(), op));
}

bool whole_number(const Array& x) { return x.number() != nullptr && is_integer(x.dtype()); }

}  // namespace

Array sum(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  return summed("sum", sum, operator+, 0, x, axes, options);
}
Array prod(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  return summed("prod", prod, operator*, 1, x, axes, options);
}
Array any(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  return summed("any", any, operator|, 0, x, axes, options);
}
Array amax(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  return largest_or_smallest("max", order::largest, order::maximum, x, axes, options);
}
Array amin(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  return largest_or_smallest("min", order::smallest, order::minimum, x, axes, options);
}

Array mean(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const SourceScope place(x.where(), "mean");
  const Array values = options.dtype ? in_dtype(x, options.dtype) : to_inexact(x);
  if (!options.where) return mean(values, axes);
  const Array total = sum(counting("mean", widened(values), options.where, 0), axes);
  const Array made = total / convert(counted("mean", values, axes, options.where), real_part_of(total.dtype()));
  return rounded_to(made, values.dtype());
}

Array var(const Operand& x, const Axes& axes, const VarOptions& options) {
  constexpr std::string_view name = "var";
  const SourceScope place(x.where(), name);
  const Array values = to_inexact(x);
  if (!options.where && !options.mean && whole_number(options.ddof)) {
    const auto ddof = options.ddof.item<std::int64_t>();
    const Dim count = axes.count(values.type(), name);
    if (ddof == 0 || !count.known() || count.value() > ddof) return var(values, axes, ddof);
  }
  const Array wide = widened(values);
  const Array middle = options.mean ? *options.mean : mean(wide, axes.keepdims(), {.where = options.where});
  const Array total = sum(counting(name, squared_modulus(wide - middle), options.where, 0), axes);
  const Array count = convert(counted(name, values, axes, options.where) - options.ddof, total.dtype());
  return rounded_to(where(count > 0, total / count, no_mean), real_part_of(values.dtype()));
}
Array stddev(const Operand& x, const Axes& axes, const VarOptions& options) {
  const SourceScope place(x.where(), "stddev");
  return sqrt(var(x, axes, options));
}

Array ptp(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "ptp");
  return order::largest(x, axes) - order::smallest(x, axes);
}

Array count_nonzero(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "count_nonzero");
  return sum(convert(x, DType::bool_), axes);
}

Array api_detail::weights_of_elements(std::string_view op, const Array& x, const Array& weights, const Axes& axes) {
  if (weights.rank() == x.rank()) return weights;
  const std::vector<std::int64_t> along = axes.of(x.type(), op);
  if (weights.rank() != along.size())
    throw ShapeError(fmt::format("{}: weights {} of {}.", op, weights.type().text(), x.type().text()),
                     "They have the array's shape, or an axis for each one that is named.");
  std::vector<Dim> dims(x.rank(), Dim(1));
  for (std::size_t i = 0; i < along.size(); ++i) dims[static_cast<std::size_t>(along[i])] = weights.shape()[i];
  return reshape(weights, Shape(dims));
}

WeightedMean weighted_mean(const Operand& x, const Operand& weights, const Axes& axes) {
  constexpr std::string_view name = "average";
  const SourceScope place(x.where(), name);
  const Array given = api_detail::weights_of_elements(name, x, weights, axes);
  const Met met = in_one_dtype(Arrays{x, given});
  const Array values = to_inexact(met.operands[0]);
  const Array of_each = broadcast_to(to_inexact(met.operands[1]), values.shape());
  const Array total = sum(of_each, axes);
  return {sum(values * of_each, axes) / total, total};
}
Array average(const Operand& x, const Operand& weights, const Axes& axes) {
  return weighted_mean(x, weights, axes).mean;
}

}  // namespace tenon
