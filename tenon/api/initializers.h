// First values of the parameters of neural networks, by the names of jax.nn.initializers.
//
//   auto first = tn::nn::initializers::he_normal();
//   Array weights = first(tn::random::key(0), {784, 128});
//
// The same numbers as JAX draws of the key, but for roundings (tenon/ops/composites/random.h). Throws ShapeError where
// a shape has not the axes that are asked for, DTypeError where numbers of a dtype are not drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon::nn::initializers {

// A function of a key, a shape and a dtype.
class Initializer {
 public:
  using Draw = std::function<Array(const Operand& key, const Shape& shape, DType dtype)>;
  explicit Initializer(Draw draw) : draw_(std::move(draw)) {}
  Array operator()(const Operand& key, const Shape& shape, DType dtype = DType::f32) const {
    return draw_(key, shape, dtype);
  }

 private:
  Draw draw_;
};

// Zeros, ones, and one value.
//   constant(2.f)(random::key(0), {2})   // 2 2
Array zeros(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Array ones(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Initializer constant(const Array& value);
// Uniform in [0, scale); normal of this standard deviation, and of normal numbers those between bounds, times it.
//   normal(0.1)(random::key(0), {2})   // 0.1622642 0.2025265
Initializer uniform(const Array& scale = 1e-2);
Initializer normal(const Array& deviation = 1e-2);
Initializer truncated_normal(const Array& deviation = 1e-2, const Array& lower = -2.0, const Array& upper = 2.0);

// Numbers of mean 0 whose variance is scale / n, n being the number of inputs of a weight, of its outputs, their mean
// or their geometric mean; axes that are none of inputs, outputs and batch count in both. Complex ones are uniform, or
// normal and cut, in a disk. With the default axes of two axes or more.
//   variance_scaling(1.0, Fan::in, Spread::normal)(random::key(0), {3, 2})
enum class Fan : std::uint8_t { in, out, average, geometric_average };
enum class Spread : std::uint8_t { truncated_normal, normal, uniform };
struct FanAxes {
  std::vector<std::int64_t> in = {-2}, out = {-1}, batch = {};
};
Initializer variance_scaling(double scale, Fan fan, Spread spread, const FanAxes& axes = {});
// Scale 1 of the average (Glorot and Bengio 2010), 1 of inputs (LeCun et al. 1998), 2 of inputs (He et al. 2015);
// normal ones are cut at 2 standard deviations.
//   glorot_uniform()(random::key(0), {3, 2})
Initializer glorot_uniform(const FanAxes& axes = {});
Initializer glorot_normal(const FanAxes& axes = {});
Initializer lecun_uniform(const FanAxes& axes = {});
Initializer lecun_normal(const FanAxes& axes = {});
Initializer he_uniform(const FanAxes& axes = {});
Initializer he_normal(const FanAxes& axes = {});
inline Initializer xavier_uniform(const FanAxes& axes = {}) { return glorot_uniform(axes); }
inline Initializer xavier_normal(const FanAxes& axes = {}) { return glorot_normal(axes); }
inline Initializer kaiming_uniform(const FanAxes& axes = {}) { return he_uniform(axes); }
inline Initializer kaiming_normal(const FanAxes& axes = {}) { return he_normal(axes); }

// Orthonormal columns along `column_axis` (rows, where there are fewer), times the scale (Saxe et al. 2013); the other
// axes count as one.
//   const Array q = orthogonal()(random::key(0), {2, 2});
//   abs(dot(q, transpose(q)) - eye(2)) < 1e-5f   // true true, true true
Initializer orthogonal(const Array& scale = 1.0, std::int64_t column_axis = -1);
// Of shape [*sizes, inputs, outputs], one to three sizes: weights of convolutions, zero but at the middle place, where
// they are orthogonal (Xiao et al. 2018). Not of more inputs than outputs.
//   delta_orthogonal()(random::key(0), {3, 2, 2})
Initializer delta_orthogonal(const Array& scale = 1.0, std::int64_t column_axis = -1);

}  // namespace tenon::nn::initializers
