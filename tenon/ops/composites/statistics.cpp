#include "tenon/ops/composites/statistics.h"

#include <limits>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Array computed(const Array& x) { return is_narrow(x.dtype()) ? convert(x, DType::f32) : x; }
Array back(const Array& result, DType wanted) { return is_narrow(wanted) ? convert(result, wanted) : result; }

Array divided(const Array& total, const Dim& count) {
  if (count.known()) return total / static_cast<double>(count.value());
  return total / size_as_array(count, real_part_of(total.dtype()));
}

}  // namespace

Array squared_modulus(const Array& x) { return is_complex(x.dtype()) ? square(real(x)) + square(imag(x)) : square(x); }

Array mean(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "mean");
  const Array values = to_inexact(x);
  const Dim count = axes.count(values.type(), "mean");
  return back(divided(sum(computed(values), axes), count), values.dtype());
}

Array var(const Operand& x, const Axes& axes, std::int64_t ddof) {
  const SourceScope place(x.where(), "var");
  const Array values = to_inexact(x), wide = computed(values);
  const Dim count = axes.count(values.type(), "var");
  const Array squares = squared_modulus(wide - mean(wide, axes.keepdims()));
  return back(divided(sum(squares, axes), count - Dim(ddof)), values.dtype());
}

Array stddev(const Operand& x, const Axes& axes, std::int64_t ddof) {
  const SourceScope place(x.where(), "stddev");
  return sqrt(var(x, axes, ddof));
}

Array standardize(const Operand& x, const Axes& axes, double epsilon) {
  const SourceScope place(x.where(), "standardize");
  const Array values = to_inexact(x), wide = computed(values);
  const Array centred = wide - mean(wide, axes.keepdims());
  const Array variance = mean(squared_modulus(centred), axes.keepdims());
  return back(centred * rsqrt(variance + epsilon), values.dtype());
}

// max + log Σ exp(x - max); the maximum is a constant to the derivative, and 0 where it is infinite.
Array logsumexp(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "logsumexp");
  const Array values = to_inexact(x);
  if (axes.count(values.type(), "logsumexp") == Dim(0)) return sum(values, axes) - infinity;
  const Array largest = amax(real(values), axes.keepdims());
  const Array shift = stop_gradient(where(is_finite(largest), largest, 0));
  const Array total = sum(exp(values - shift), axes);
  // The logarithm of 0 is kept out of the derivative, where it would be 0·∞.
  const Array nothing = total == 0;
  const Array logarithm = where(nothing, -infinity, log(where(nothing, 1, total)));
  return logarithm + reshape(shift, total.shape());
}

Array softmax(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "softmax");
  Array values = to_inexact(x);
  if (axes.count(values.type(), "softmax") == Dim(0)) return values;
  const Array e = exp(values - stop_gradient(amax(real(values), axes.keepdims())));
  return e * (1 / sum(e, axes.keepdims()));  // one division a row
}

Array log_softmax(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "log_softmax");
  Array values = to_inexact(x);
  if (axes.count(values.type(), "log_softmax") == Dim(0)) return values;
  const Array shifted = values - stop_gradient(amax(real(values), axes.keepdims()));
  return shifted - log(sum(exp(shifted), axes.keepdims()));
}

Array norm(const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), "norm");
  const Array values = to_inexact(x);
  return back(sqrt(sum(squared_modulus(computed(values)), axes)), values.dtype());
}

}  // namespace tenon
