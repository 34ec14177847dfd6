// Reductions of the elements that are not NaN.
#include <complex>
#include <limits>

#include "tenon/api/cumulative.h"
#include "tenon/api/reductions.h"
#include "tenon/ops/composites/order.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"

namespace tenon {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

Array replaced_nan(const Array& x, const Scalar& by) {
  return is_inexact(x.dtype()) ? where(is_nan(x), Array(by.convert(x.dtype())), x) : x;
}

// What no number of a dtype lies beyond; of complex ones in both parts.
Scalar least_of(DType d) {
  if (!is_complex(d)) return lowest(d);
  constexpr double end = -std::numeric_limits<double>::infinity();
  return Scalar(std::complex<double>(end, end)).convert(d);
}
Scalar greatest_of(DType d) {
  if (!is_complex(d)) return highest(d);
  constexpr double end = std::numeric_limits<double>::infinity();
  return Scalar(std::complex<double>(end, end)).convert(d);
}

// Whether elements are numbers, and count.
MaybeArray numbers_that_count(const Array& x, const MaybeArray& mask) {
  if (!is_inexact(x.dtype())) return mask;
  const Array number = !is_nan(x);
  return mask ? number & *mask : number;
}

Array extreme_of_numbers(Array (*f)(const Operand&, const Axes&, const ReduceOptions&), Scalar end, const Array& x,
                         const Axes& axes, const ReduceOptions& options) {
  const Array made = f(replaced_nan(x, end), axes, options);
  if (!is_inexact(x.dtype()) || options.initial) return made;
  return where(all(is_nan(x), axes), no_number, made);
}
Array place_of_extreme(Array (*f)(const Operand&, const Axes&), Scalar end, const Array& x, const Axes& axis) {
  const Array made = f(replaced_nan(x, end), axis);
  return is_inexact(x.dtype()) ? where(all(is_nan(x), axis), -1, made) : made;
}

}  // namespace

Array nansum(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const SourceScope place(x.where(), "nansum");
  return sum(replaced_nan(x, Scalar(0)), axes, options);
}
Array nanprod(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const SourceScope place(x.where(), "nanprod");
  return prod(replaced_nan(x, Scalar(1)), axes, options);
}
Array nanmax(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const SourceScope place(x.where(), "nanmax");
  return extreme_of_numbers(amax, least_of(x->dtype()), x, axes, options);
}
Array nanmin(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const SourceScope place(x.where(), "nanmin");
  return extreme_of_numbers(amin, greatest_of(x->dtype()), x, axes, options);
}
Array nanargmax(const Operand& x, const Axes& axis) {
  const SourceScope place(x.where(), "nanargmax");
  return place_of_extreme(argmax, least_of(x->dtype()), x, axis);
}
Array nanargmin(const Operand& x, const Axes& axis) {
  const SourceScope place(x.where(), "nanargmin");
  return place_of_extreme(argmin, greatest_of(x->dtype()), x, axis);
}
Array nanmean(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const SourceScope place(x.where(), "nanmean");
  ReduceOptions of_numbers = options;
  of_numbers.where = numbers_that_count(x, options.where);
  return mean(x, axes, of_numbers);
}
Array nanvar(const Operand& x, const Axes& axes, const VarOptions& options) {
  const SourceScope place(x.where(), "nanvar");
  VarOptions of_numbers = options;
  of_numbers.where = numbers_that_count(x, options.where);
  return var(replaced_nan(x, Scalar(0)), axes, of_numbers);
}
Array nanstd(const Operand& x, const Axes& axes, const VarOptions& options) {
  const SourceScope place(x.where(), "nanstd");
  return sqrt(nanvar(x, axes, options));
}
Array nancumsum(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where(), "nancumsum");
  return cumsum(replaced_nan(x, Scalar(0)), axis);
}
Array nancumprod(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where(), "nancumprod");
  return cumprod(replaced_nan(x, Scalar(1)), axis);
}

}  // namespace tenon
