// Arrays to test functions with, and what is close to what.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tenon/tenon.h"

namespace tenon {

// f64, of both signs and zero: the same at every run.
inline Array numbers(std::vector<std::int64_t> shape, double scale = 0.1) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(scale * static_cast<double>((7 * i + 3) % 11 - 5));
  return array<double>(v, shape);
}

// Of one shape and dtype, and apart by roundings: sums may be made in another order.
inline bool close(const Array& a, const Array& b, double tolerance = 1e-12) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && allclose(a, b, tolerance, tolerance);
}

// Leaf by leaf.
template <class Got, class Want>
void expect_close(const Got& got, const Want& want, const char* what, double tolerance = 1e-12) {
  const Arrays a = tree::leaves(got), b = tree::leaves(want);
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(close(a[i], b[i], tolerance)) << what << ", leaf " << i << ": " << a[i] << " for " << b[i];
}

template <class Got, class Want>
void expect_close(const Got& got, const Want& want, double tolerance = 1e-12) {
  expect_close(got, want, "result", tolerance);
}

// Out of arrays.
inline std::int64_t count(const Array& n) { return n.item<std::int64_t>(); }
inline std::vector<double> all_values(const Array& a) {
  const Buffer b = convert(a, DType::f64).to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}

}  // namespace tenon
