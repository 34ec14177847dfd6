// Matrices to test functions with, how far apart they are, and derivatives beside differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "tenon/tenon.h"

namespace tenon::drawn_matrices {

namespace tn = tenon;
namespace linalg = tenon::linalg;
using tn::Array;
using tn::Dim;
using tn::DType;
using tn::Shape;
using Number = std::complex<double>;

inline Array drawn(const Shape& shape, DType dtype = DType::f64, int seed = 7) {
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal;
  tn::Buffer buffer = tn::Buffer::allocate(DType::c128, shape.sizes());
  for (std::int64_t i = 0; i < buffer.elements(); ++i) {
    const double re = normal(generator), im = normal(generator);
    buffer.as<Number>()[i] = {re, im};
  }
  const Array whole(buffer);
  return tn::convert(tn::is_complex(dtype) ? whole : tn::real(whole), dtype);
}
inline Array turned(const Array& a) {
  const auto rank = static_cast<std::int64_t>(a.rank());
  return tn::move_axis(tn::is_complex(a.dtype()) ? tn::conj(a) : a, rank - 1, rank - 2);
}
inline Array hermitian(const Array& a) { return a + turned(a); }
inline Array along_columns(const Array& v, const Array& w) {
  return v * tn::convert(tn::expand_dims(w, -2), v.dtype());
}
// The largest |x - y|, and the same in proportion to y.
inline double distance(const Array& x, const Array& y) {
  EXPECT_EQ(x.shape(), y.shape());
  if (tn::convert(x, DType::c128).to_buffer().elements() == 0) return 0;
  return tn::convert(tn::max(tn::abs(tn::convert(x, DType::c128) - tn::convert(y, DType::c128))), DType::f64)
      .item<double>();
}
inline double unit_distance(const Array& v) {
  const Array product = tn::matmul(turned(v), v);
  return distance(product, tn::broadcast_to(tn::eye(product.shape()[product.rank() - 1], DType::f64), product.shape()));
}
inline double tolerance(DType dtype) { return tn::real_part_of(dtype) == DType::f64 ? 2e-12 : 1e-3; }
// Numbers that do not depend on signs and phases of vectors.
inline Array weights(const Array& of) {
  return tn::cos(tn::convert(tn::iota(DType::f64, of.shape(), 0) * 1.7 +
                                 tn::iota(DType::f64, of.shape(), static_cast<std::int64_t>(of.rank()) - 1),
                             DType::f64));
}
inline Array weighed(const Array& x) {
  const Array w = weights(x);
  return tn::is_complex(x.dtype()) ? tn::sum(tn::real(x) * w + tn::imag(x) * tn::sin(w)) : tn::sum(x * w);
}
using Scalar = Array (*)(const Array&);
// Along a direction, beside a difference: of jvp and of the gradient.
inline void expect_slope(Scalar f, const Array& a, double near = 2e-6) {
  const Array da = drawn(a.shape(), a.dtype(), 5);
  const double h = 1e-6;
  const double wanted = (f(a + h * da) - f(a - h * da)).item<double>() / (2 * h);
  const double scale = near * (1 + std::abs(wanted));
  EXPECT_NEAR(tn::jvp(f, std::tuple(a), std::tuple(da)).second.item<double>(), wanted, scale);
  EXPECT_NEAR(tn::sum(tn::real(tn::grad(f)(a) * da)).item<double>(), wanted, scale);
}
// The same compiled, and in a batch.
inline void expect_slope_in_all_forms(Scalar f, const Array& a) {
  expect_slope(f, a);
  const Array g = tn::grad(f)(a);
  const double near = 1e-8 * (1 + distance(g, tn::zeros_like(g)));
  EXPECT_LE(distance(tn::jit(tn::grad(f))(a), g), near);
  const Array lanes = tn::vmap(tn::grad(f))(tn::stack(std::vector{a, a + 0.25}));
  EXPECT_LE(distance(lanes(0), g), near);
}

}  // namespace tenon::drawn_matrices
