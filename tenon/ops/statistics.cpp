#include "tenon/ops/statistics.h"

#include <limits>

#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/shape.h"

namespace tenon {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool half(DType d) { return d == DType::f16 || d == DType::bf16; }
Array computed(const Array& x) { return half(x.dtype()) ? convert(x, DType::f32) : x; }
Array back(const Array& result, DType wanted) { return half(wanted) ? convert(result, wanted) : result; }

Dim count_of(std::string_view op, const Shape& shape, const std::optional<Axes>& axes) {
  Dim count = 1;
  for (std::int64_t axis : resolve_axes(op, shape.rank(), axes)) count = count * shape[static_cast<std::size_t>(axis)];
  return count;
}

Array divided(const Array& total, const Dim& count) {
  if (count.known()) return total / static_cast<double>(count.value());
  return total / convert(size_as_array(count), real_part_of(total.dtype()));
}

Array squared_modulus(const Array& x) { return is_complex(x.dtype()) ? square(real(x)) + square(imag(x)) : square(x); }

bool no_elements(const Array& x, std::int64_t axis, std::string_view op) {
  return x.shape()[normalize_axis(axis, x.rank(), op)] == Dim(0);
}

}  // namespace

Array mean(const Operand& x, std::optional<Axes> axes, bool keep_dims) {
  const SourceScope place(x.where());
  const Array values = to_inexact(x);
  const Array total = sum(computed(values), axes, keep_dims);
  return back(divided(total, count_of("mean", values.shape(), axes)), values.dtype());
}

Array var(const Operand& x, std::optional<Axes> axes, bool keep_dims, std::int64_t ddof) {
  const SourceScope place(x.where());
  const Array values = to_inexact(x), wide = computed(values);
  const Array squares = squared_modulus(wide - mean(wide, axes, true));
  const Dim count = count_of("var", values.shape(), axes);
  return back(divided(sum(squares, axes, keep_dims), count - Dim(ddof)), values.dtype());
}

Array stddev(const Operand& x, std::optional<Axes> axes, bool keep_dims, std::int64_t ddof) {
  const SourceScope place(x.where());
  return sqrt(var(x, std::move(axes), keep_dims, ddof));
}

Array standardize(const Operand& x, std::int64_t axis, double epsilon) {
  const SourceScope place(x.where());
  const Array values = to_inexact(x), wide = computed(values);
  const Array centred = wide - mean(wide, Axes{axis}, true);
  const Array variance = mean(squared_modulus(centred), Axes{axis}, true);
  return back(centred * rsqrt(variance + epsilon), values.dtype());
}

// max + log Σ exp(x - max); the maximum is a constant to the derivative, and 0 where it is infinite.
Array logsumexp(const Operand& x, std::optional<Axes> axes, bool keep_dims) {
  const SourceScope place(x.where());
  const Array values = to_inexact(x);
  if (count_of("logsumexp", values.shape(), axes) == Dim(0)) return sum(values, axes, keep_dims) - infinity;
  const Array largest = amax(values, axes, true);
  const Array shift = stop_gradient(where(is_finite(largest), largest, 0));
  const Array total = sum(exp(values - shift), axes, keep_dims);
  // The logarithm of 0 is kept out of the derivative, where it would be 0·∞.
  const Array nothing = total == 0;
  const Array logarithm = where(nothing, -infinity, log(where(nothing, 1, total)));
  return logarithm + (keep_dims ? shift : reshape(shift, total.shape()));
}

// The larger + log(1 + e^-|x - y|), by halves that are smooth where they meet.
Array logaddexp(const Operand& x, const Operand& y) {
  const SourceScope place(x.where());
  const Met met = meet("logaddexp", {to_inexact(x), to_inexact(y)});
  const Array &a = met.operands[0], &b = met.operands[1];
  const Array above = a > b;
  const Array equal_infinities = (a == b) & !is_finite(a);  // their difference is NaN
  const Array down = where(above | equal_infinities, 0, a - b), up = where(above, b - a, 0);
  return where(above, a + log1p(exp(up)), b + log1p(exp(down)));
}

Array softmax(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where());
  const Array values = to_inexact(x);
  if (no_elements(values, axis, "softmax")) return values;
  const Array e = exp(values - stop_gradient(amax(values, Axes{axis}, true)));
  return e * (1 / sum(e, Axes{axis}, true));  // one division a row
}

Array log_softmax(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where());
  const Array values = to_inexact(x);
  if (no_elements(values, axis, "log_softmax")) return values;
  const Array shifted = values - stop_gradient(amax(values, Axes{axis}, true));
  return shifted - log(sum(exp(shifted), Axes{axis}, true));
}

Array norm(const Operand& x, std::optional<Axes> axes, bool keep_dims) {
  const SourceScope place(x.where());
  const Array values = to_inexact(x);
  return back(sqrt(sum(squared_modulus(computed(values)), std::move(axes), keep_dims)), values.dtype());
}

}  // namespace tenon
