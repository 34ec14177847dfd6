#include "tenon/api/initializers.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tenon/api/random.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::nn::initializers {
namespace {

constexpr std::string_view scope = "nn::initializers";

Array scaled(const Array& drawn, const Array& scale) { return drawn * convert(scale, drawn.dtype()).with_weak(false); }

// Complex numbers whose angle is uniform, and the square of whose size is what `squared` makes of a uniform number.
Array in_disk(const Array& key, const Shape& shape, DType dtype, const std::function<Array(const Array&)>& squared) {
  const DType part = real_part_of(dtype);
  const Array keys = random::split(key);
  const Array size = sqrt(squared(random::uniform(keys(0), shape, part)));
  const Array angle = 2 * std::numbers::pi * random::uniform(keys(1), shape, part);
  return complex(size * cos(angle), size * sin(angle));
}

// Numbers of variance 1. What is cut at 2 standard deviations has a lesser one, by which it is divided.
Array of_variance_one(Spread spread, const Array& key, const Shape& shape, DType dtype) {
  if (spread == Spread::normal) return random::normal(key, shape, dtype);
  if (spread == Spread::truncated_normal) {
    // JAX's numbers: √(1 - 4φ(2) / (2Φ(2) - 1)) of the normal distribution, and for complex numbers one that is a
    // hundredth less than their √(1 - 4 / (e⁴ - 1)).
    constexpr double cut_in_disk = .95311164380491208, cut = .87962566103423978;
    if (is_complex(dtype))
      return in_disk(key, shape, dtype, [](const Array& u) { return -log1p(-u * (1 - std::exp(-4.0))); }) *
             (1 / cut_in_disk);
    return random::truncated_normal(key, -2, 2, shape, dtype) * (1 / cut);
  }
  if (is_complex(dtype)) return in_disk(key, shape, dtype, [](const Array& u) { return 2 * u; });
  return random::uniform(key, shape, dtype, -1) * std::sqrt(3.0);
}

// How many inputs, or outputs, a weight has.
double fan_of(Fan fan, const FanAxes& axes, const Shape& shape) {
  const std::size_t rank = shape.rank();
  const FanAxes usual;
  if (rank < 2 && axes.in == usual.in && axes.out == usual.out)
    throw ShapeError(
        fmt::format(
            "nn::initializers: the shape {} of a {}-dimensional weights tensor has not both the axes -2 and -1.",
            shape.text(), rank),
        "Give two axes or more, or say which are those of inputs and outputs.");
  const auto product = [&](const std::vector<std::int64_t>& of) {
    double n = 1;
    for (const std::int64_t axis : of) n *= static_cast<double>(shape[normalize_axis(axis, rank, scope)].value());
    return n;
  };
  const double in = product(axes.in), out = product(axes.out), others = in * out * product(axes.batch);
  const double field = others == 0 ? 0 : static_cast<double>(shape.elements().value()) / others;
  switch (fan) {
    case Fan::in:
      return in * field;
    case Fan::out:
      return out * field;
    case Fan::average:
      return (in + out) * field / 2;
    case Fan::geometric_average:
      break;
  }
  return std::sqrt(in * out) * field;
}

Array orthogonal_of(const Array& key, const Shape& shape, DType dtype, const Array& scale, std::int64_t column_axis) {
  if (shape.rank() < 2)
    throw ShapeError(fmt::format("nn::initializers::orthogonal: the shape {} has no rows and columns.", shape.text()),
                     "Give one that is 2D at least.");
  const std::size_t at = normalize_axis(column_axis, shape.rank(), "nn::initializers::orthogonal");
  if (shape.elements() == Dim(0)) return tenon::zeros(shape, dtype);
  Shape rest = shape.without_axis(at);
  const Array made = random::orthogonal(key, rest.elements(), shape[at], {}, dtype);
  rest.push_back(shape[at]);
  return move_axis(reshape(made, rest), -1, static_cast<std::int64_t>(at)) * scale;
}

Array delta_orthogonal_of(const Array& key, const Shape& shape, DType dtype, const Array& scale,
                          std::int64_t column_axis) {
  const std::size_t rank = shape.rank();
  if (rank < 3 || rank > 5)
    throw ShapeError(fmt::format("nn::initializers::delta_orthogonal: the shape {} has {} axes.", shape.text(), rank),
                     "Give one to three sizes, then inputs and outputs: 3 to 5.");
  if (decided_less(shape[rank - 1], shape[rank - 2]).value_or(false))
    throw ShapeError(
        fmt::format("nn::initializers::delta_orthogonal: of {} there are more inputs, fan_in, than outputs.",
                    shape.text()),
        "Inputs are at most as many as outputs.");
  Array middle = orthogonal_of(key, {shape[rank - 2], shape[rank - 1]}, dtype, scale, column_axis);
  std::vector<std::int64_t> low(rank), high(rank);
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const std::int64_t n = shape[i].value();
    low[i] = n > 0 ? (n - 1) / 2 : 0;
    high[i] = n - 1 - low[i];
    middle = expand_dims(middle, 0);
  }
  return pad(middle, Array(Scalar::zero(middle.dtype())), low, high);
}

}  // namespace

Array zeros(const Operand& key, const Shape& shape, DType dtype) { return tenon::zeros(shape, dtype, key.where()); }
Array ones(const Operand& key, const Shape& shape, DType dtype) { return tenon::ones(shape, dtype, key.where()); }

Initializer constant(const Array& value) {
  return Initializer([value](const Operand& key, const Shape& shape, DType dtype) {
    const SourceScope place(key.where(), scope);
    return full(shape, convert(value, dtype).with_weak(false));
  });
}

Initializer uniform(const Array& scale) {
  return Initializer([scale](const Operand& key, const Shape& shape, DType dtype) {
    const SourceScope place(key.where(), scope);
    return scaled(random::uniform(key, shape, dtype), scale);
  });
}

Initializer normal(const Array& deviation) {
  return Initializer([deviation](const Operand& key, const Shape& shape, DType dtype) {
    const SourceScope place(key.where(), scope);
    return scaled(random::normal(key, shape, dtype), deviation);
  });
}

Initializer truncated_normal(const Array& deviation, const Array& lower, const Array& upper) {
  return Initializer([=](const Operand& key, const Shape& shape, DType dtype) {
    const SourceScope place(key.where(), scope);
    return scaled(random::truncated_normal(key, lower, upper, shape, dtype), deviation);
  });
}

Initializer variance_scaling(double scale, Fan fan, Spread spread, const FanAxes& axes) {
  return Initializer([=](const Operand& key, const Shape& shape, DType dtype) {
    const SourceScope place(key.where(), scope);
    const double n = fan_of(fan, axes, shape);
    const Array drawn = of_variance_one(spread, key, shape, dtype);
    return n == 0 ? drawn : drawn * std::sqrt(scale / n);
  });
}

Initializer glorot_uniform(const FanAxes& axes) { return variance_scaling(1, Fan::average, Spread::uniform, axes); }
Initializer glorot_normal(const FanAxes& axes) {
  return variance_scaling(1, Fan::average, Spread::truncated_normal, axes);
}
Initializer lecun_uniform(const FanAxes& axes) { return variance_scaling(1, Fan::in, Spread::uniform, axes); }
Initializer lecun_normal(const FanAxes& axes) { return variance_scaling(1, Fan::in, Spread::truncated_normal, axes); }
Initializer he_uniform(const FanAxes& axes) { return variance_scaling(2, Fan::in, Spread::uniform, axes); }
Initializer he_normal(const FanAxes& axes) { return variance_scaling(2, Fan::in, Spread::truncated_normal, axes); }

Initializer orthogonal(const Array& scale, std::int64_t column_axis) {
  return Initializer([=](const Operand& key, const Shape& shape, DType dtype) {
    const SourceScope place(key.where(), scope);
    return orthogonal_of(key, shape, dtype, scale, column_axis);
  });
}

Initializer delta_orthogonal(const Array& scale, std::int64_t column_axis) {
  return Initializer([=](const Operand& key, const Shape& shape, DType dtype) {
    const SourceScope place(key.where(), scope);
    return delta_orthogonal_of(key, shape, dtype, scale, column_axis);
  });
}

}  // namespace tenon::nn::initializers
