#include <numbers>

#include "tenon/api/custom.h"
#include "tenon/api/elementwise.h"
#include "tenon/api/nn.h"
#include "tenon/ops/composites/complex_order.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

// By halves, each where it does not overflow: all derivatives agree where they meet.
Array softplus(const Operand& x) {
  const SourceScope place(x.where(), "softplus");
  if (is_complex(x->dtype())) return logaddexp(x, 0);
  const auto power_of = [](const Array& positive, const Array& v) { return exp(where(positive, -v, v)); };
  const auto sum = [](const Array& positive, const Array& power, const Array& v) {
    return where(positive, v, 0) + log1p(power);
  };
  const auto value = [=](const Array& v) {
    const Array positive = v > 0;
    return sum(positive, power_of(positive, v), v);
  };
  const auto rule = [=](const Array& v, const Array& dv) {
    const Array positive = v > 0, power = power_of(positive, v);
    return std::pair(sum(positive, power, v), dv * (where(positive, 1, power) / (1 + power)));
  };
  return custom_jvp(value, rule)(to_inexact(x));
}

Array log_sigmoid(const Operand& x) {
  const SourceScope place(x.where(), "log_sigmoid");
  return -softplus(-to_inexact(x));
}

}  // namespace tenon

namespace tenon::nn {
namespace {

// The larger or the smaller of x and 0, in the order of complex numbers too.
Array positive_part(const Array& x) { return is_complex(x.dtype()) ? relu(x) : max(x, 0.0); }
Array negative_part(const Array& x) { return is_complex(x.dtype()) ? where(is_above(x, 0), 0.0, x) : min(x, 0.0); }

}  // namespace

Array relu6(const Operand& x) {
  const SourceScope place(x.where(), "nn::relu6");
  const Array v = to_inexact(x), much = is_at_least(v, 6);
  return where(much, 6.0, relu(where(much, 0.0, v)));
}

Array hard_sigmoid(const Operand& x) {
  const SourceScope place(x.where(), "nn::hard_sigmoid");
  return relu6(to_inexact(x) + 3.0) / 6.0;
}

Array hard_silu(const Operand& x) {
  const SourceScope place(x.where(), "nn::hard_silu");
  const Array v = to_inexact(x);
  return v * hard_sigmoid(v);
}

Array hard_tanh(const Operand& x) {
  const SourceScope place(x.where(), "nn::hard_tanh");
  const Array& v = x;
  const Array within = is_unsigned_integer(v.dtype()) ? v : where(is_below(v, -1), -1, v);
  return where(is_above(v, 1), 1, within);
}

Array celu(const Operand& x, const Operand& alpha) {
  const SourceScope place(x.where(), "nn::celu");
  const Array v = to_inexact(x);
  return positive_part(v) + alpha * expm1(negative_part(v) / alpha);
}

Array selu(const Operand& x) {
  const SourceScope place(x.where(), "nn::selu");
  return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717);
}

Array soft_sign(const Operand& x) {
  const SourceScope place(x.where(), "nn::soft_sign");
  const Array v = to_inexact(x);
  return v / (abs(v) + 1);
}

Array mish(const Operand& x) {
  const SourceScope place(x.where(), "nn::mish");
  const Array v = to_inexact(x);
  return v * tanh(softplus(v));
}

Array squareplus(const Operand& x, const Operand& b) {
  const SourceScope place(x.where(), "nn::squareplus");
  const Array v = to_inexact(x);
  return (v + sqrt(square(v) + b)) / 2;
}

Array sparse_plus(const Operand& x) {
  const SourceScope place(x.where(), "nn::sparse_plus");
  const Array v = to_inexact(x);
  return where(v <= -1.0, 0.0, where(v >= 1.0, v, square(v + 1.0) / 4));
}

Array sparse_sigmoid(const Operand& x) {
  const SourceScope place(x.where(), "nn::sparse_sigmoid");
  return 0.5 * min(max(to_inexact(x) + 1.0, 0.0), 2.0);
}

// Below log 2 by the logarithm of what expm1 leaves, above by log1p.
Array log1mexp(const Operand& x) {
  const SourceScope place(x.where(), "nn::log1mexp");
  const Array v = to_inexact(x), small = is_below(v, std::numbers::ln2);
  const Array near = where(small, v, 1), far = where(small, 1, v);
  return where(small, log(-expm1(-near)), log1p(-exp(-far)));
}

Array glu(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where(), "nn::glu");
  const std::vector<Array> halves = split(x, 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

}  // namespace tenon::nn
