#include "tenon/ops/composites/activations.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tenon/ops/composites/complex_order.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

Array sigmoid(const Operand& x) { return logistic(x); }

Array relu(const Operand& x) {
  const SourceScope place(x.where(), "relu");
  return where(is_at_most(x, 0), 0, x);  // NaN stays
}

Array leaky_relu(const Operand& x, const Operand& slope) {
  const SourceScope place(x.where(), "leaky_relu");
  const Array v = to_inexact(x);
  return where(is_at_least(v, 0), v, v * slope);
}

Array elu(const Operand& x, const Operand& alpha) {
  const SourceScope place(x.where(), "elu");
  const Array v = to_inexact(x), positive = is_above(v, 0);
  return where(positive, v, alpha * expm1(where(positive, 0, v)));
}

Array silu(const Operand& x) {
  const SourceScope place(x.where(), "silu");
  const Array v = to_inexact(x);
  return v * logistic(v);
}

Array gelu(const Operand& x, Gelu form) {
  const SourceScope place(x.where(), "gelu");
  const Array v = to_inexact(x);
  if (form == Gelu::exact) return v * (0.5 * erfc(v * (-std::numbers::sqrt2 / 2)));
  const double scale = std::sqrt(2 / std::numbers::pi);
  return v * (0.5 * (1 + tanh(scale * (v + 0.044715 * (v * v * v)))));
}

Array one_hot(const Operand& indices, const Dim& classes, DType dtype, std::int64_t axis) {
  const SourceScope place(indices.where(), "one_hot");
  if (!is_integer(indices->dtype()))
    throw DTypeError(fmt::format("one_hot: the indices are {}, not integers.", indices->type().text()),
                     "Convert them to an integer dtype first.");
  const Array hot = convert(expand_dims(convert(indices, DType::i64), -1) == arange(classes, DType::i64), dtype);
  return axis == -1 ? hot : move_axis(hot, -1, axis);
}

}  // namespace tenon
