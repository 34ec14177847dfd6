// Functions that neural networks put between their layers, by the names of jax.nn.
//
// Element by element unless axes are named. Operands are real or complex, of any shape; integers become f32 (64-bit
// ones f64) but where it says otherwise. Complex numbers stand in the order of their real parts, equal ones in that of
// their imaginary parts. NaN stays. Derivatives of any order, whose value at a kink is said with each function.
#pragma once

#include <optional>

#include "tenon/ops/composites/activations.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"

namespace tenon {

// log(1 + e^x) and log(sigmoid(x)), without overflow and underflow. Derivatives multiply by sigmoid(±x) alone.
//   nn::softplus(0.0)   // log 2 = 0.6931472
//   nn::log_sigmoid(0.0)   // -log 2 = -0.6931472
Array softplus(const Operand& x);
Array log_sigmoid(const Operand& x);

}  // namespace tenon

namespace tenon::nn {

using tenon::sigmoid, tenon::log_sigmoid, tenon::softplus, tenon::relu, tenon::leaky_relu, tenon::elu, tenon::silu,
    tenon::gelu, tenon::Gelu, tenon::tanh, tenon::one_hot;

// --- of each element ---
// x limited to [0, 6]; the derivative at both ends is 0. And what is made of it: relu6(x + 3) / 6 and x times that.
//   nn::relu6(Array{-1.f, 2.f, 9.f})   // 0 2 6
Array relu6(const Operand& x);
Array hard_sigmoid(const Operand& x);
Array hard_silu(const Operand& x);
// x limited to [-1, 1], in its own dtype; the derivative at both ends is 1.
//   nn::hard_tanh(Array{-3.f, 0.5f})   // -1 0.5
Array hard_tanh(const Operand& x);
// max(x, 0) + alpha·min(exp(x / alpha) - 1, 0): an elu whose slope at 0 is 1 for every alpha.
//   nn::celu(Array{-1e9, 1.0}, 2.0)   // -2 1
Array celu(const Operand& x, const Operand& alpha = 1.0);
// The self-normalising elu (Klambauer et al. 2017).
//   nn::selu(1.0)   // 1.050701
Array selu(const Operand& x);
// x / (|x| + 1); x·tanh(softplus(x)) (Misra 2019); and (x + √(x² + b)) / 2, in the dtype in which both meet.
//   nn::soft_sign(1.0)   // 0.5
//   nn::mish(1.0)   // 0.8650984
//   nn::squareplus(0.0)   // 1
Array soft_sign(const Operand& x);
Array mish(const Operand& x);
Array squareplus(const Operand& x, const Operand& b = 4);
// 0 up to -1, x from 1 on, (x + 1)² / 4 between; and its derivative: 0, 1, (x + 1) / 2, whose own derivative at both
// ends is 1/4. Of real numbers.
//   nn::sparse_plus(Array{-2.f, 0.f, 2.f})   // 0 0.25 2
Array sparse_plus(const Operand& x);
Array sparse_sigmoid(const Operand& x);
// log(1 - exp(-x)) for x > 0, without cancellation (Mächler 2012).
//   nn::log1mexp(1.0)   // -0.4586751
Array log1mexp(const Operand& x);

// --- along axes ---
// The first half of an axis times sigmoid of the second (Dauphin et al. 2017). Throws ShapeError where the axis has an
// odd size.
//   nn::glu(Array{3.f, 0.f})   // 1.5
Array glu(const Operand& x, std::int64_t axis = -1);

// exp(x) / Σ exp(x), and its logarithm, of the elements where `counted`, bool, broadcast to x, holds: the others become
// 0, and -inf.
//   nn::softmax(Array{1.f, 1.f, 9.f}, -1, Array{true, true, false})   // 0.5 0.5 0
using tenon::softmax, tenon::log_softmax;
Array softmax(const Operand& x, const Axes& axes, const Operand& counted);
Array log_softmax(const Operand& x, const Axes& axes, const Operand& counted);

// log Σ weights·exp(x) of the elements where `counted` holds, without overflow. Real sums below 0 have no logarithm:
// NaN. Of no elements -inf.
//   nn::logsumexp(Array{0.f, 0.f}, {}, {.weights = 2.f})   // log 4 = 1.386294
struct LogSumExpOptions {
  std::optional<Array> weights = {}, counted = {};  // that broadcast to x
};
using tenon::logsumexp;
Array logsumexp(const Operand& x, const Axes& axes, const LogSumExpOptions& options);
// The logarithm of the sum's absolute value, and its sign; of complex numbers on the unit circle.
//   nn::signed_logsumexp(Array{0.f, 0.f}, {}, {.weights = -1.f})   // 0.6931472, -1
struct SignedLog {
  Array logarithm, sign;
};
SignedLog signed_logsumexp(const Operand& x, const Axes& axes = {}, const LogSumExpOptions& options = {});
// log of the mean of exp(x), of the elements where `counted` holds.
//   nn::logmeanexp(Array{3.f, 3.f})   // 3
Array logmeanexp(const Operand& x, const Axes& axes = {}, const std::optional<Array>& counted = {});

// (x - mean) / √(variance + epsilon), with the mean and the mean squared difference from it along axes of the elements
// where `counted` holds, unless they are given; f8, f16 and bf16 are computed in f32.
//   nn::standardize(Array{1.f, 3.f}, 0, {.epsilon = 0.0})   // -1 1
struct StandardizeOptions {
  std::optional<Array> mean = {}, variance = {}, counted = {};  // that broadcast to x
  Array epsilon = 1e-5;
};
using tenon::standardize;
Array standardize(const Operand& x, const Axes& axes, const StandardizeOptions& options);

}  // namespace tenon::nn
