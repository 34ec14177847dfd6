// Programs over pairs of rows: what they read, whether an array has an element for each pair, and what is close.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/eval/evaluate.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/control/region.h"
#include "tenon/tenon.h"
#include "tests/rewrite/same.h"

namespace tenon {

// Rows of x and of y: enough pairs for a loop, along either of them. Along y its last turn has fewer steps.
inline constexpr std::int64_t M = 520, N = 517, D = 2;

inline Array x0() { return zeros({M, D}, DType::f64); }
inline Array y0() { return zeros({N, D}, DType::f64); }
inline Array b0() { return zeros({N}, DType::f64); }

// Arrays with an element for each pair, in bodies of loops and in branches too.
inline int of_all_pairs(const Program& p, double pairs = M * N) {
  int count = 0;
  for (Var v = 0; v < p.vars(); ++v)
    if (p.type(v).is_array()) count += kernel::estimate(p.type(v).shape.elements()) >= pairs;
  for (const Eqn& eqn : p.eqns()) {
    if (eqn.op == &loop_op()) count += of_all_pairs(*eqn.params.as<LoopParams>().body, pairs);
    if (eqn.op == &cond_op())
      for (const ProgramRef& branch : eqn.params.as<CondParams>().branches) count += of_all_pairs(*branch, pairs);
  }
  return count;
}

// What the order of a sum moves, in the dtypes that a Program computes in.
inline double tolerance_of(const Program& p) {
  double most = 1e-10;
  for (Var v = 0; v < p.vars(); ++v)
    most = std::max(most, is_narrow(p.type(v).dtype) ? 3e-2 : p.type(v).dtype == DType::f32 ? 1e-4 : 0);
  return most;
}
inline void expect_close(const ProgramRef& p, const std::vector<Value>& got, const std::vector<Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(type_of(got[i]), type_of(want[i]));
    const auto wide = [](const Value& v) { return convert(Array(std::get<Buffer>(v)), DType::f64).to_buffer(); };
    const Buffer g = wide(got[i]), w = wide(want[i]);
    double largest = 1;
    for (std::int64_t k = 0; k < w.elements(); ++k)
      if (std::isfinite(w.as<double>()[k])) largest = std::max(largest, std::abs(w.as<double>()[k]));
    for (std::int64_t k = 0; k < w.elements(); ++k)
      ASSERT_NEAR(g.as<double>()[k], w.as<double>()[k], tolerance_of(*p) * largest) << k;
  }
}

inline void expect_same_results(const ProgramRef& p, const std::vector<Value>& got, const std::vector<Value>& in) {
  expect_close(p, got, evaluate(*p, {}, in));
}

inline Array squared_distances(const Array& x, const Array& y) {
  const Shape all{x.shape()[0], y.shape()[0], x.shape()[1]};
  return sum(square(broadcast_in_dim(x, all, {0, 2}) - broadcast_in_dim(y, all, {1, 2})), 2);
}

}  // namespace tenon
