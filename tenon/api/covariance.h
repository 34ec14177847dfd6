// Covariances and correlations of variables, as NumPy names them.
#pragma once

#include "tenon/api/reductions.h"
#include "tenon/ir/array.h"

namespace tenon {

// `columns`: variables are columns. `ddof`: the sum is divided by the observations less so many, 1 where it is not
// given; NaN where that leaves none. Observations count as often as `frequencies` (integers), and as much as `weights`
// say: vectors of one for each.
struct CovOptions {
  bool columns = false;
  MaybeArray ddof = {}, frequencies = {}, weights = {};
};
// The covariances of variables, a row each, [variables, observations], or a vector of one: [variables, variables], or
// [] of one variable. `y`: further variables. Of real or complex numbers; integers become f32 (64-bit ones f64), f16
// and bf16 stay. Derivatives of any order. Throws ShapeError where there are more than two axes, or numbers of
// observations differ; DTypeError where frequencies are not of integers.
//   cov(Array{{0.f, 1.f, 2.f}, {2.f, 1.f, 0.f}})   // 1 -1, -1 1
Array cov(const Operand& x, const CovOptions& options = {});
Array cov(const Operand& x, const Operand& y, const CovOptions& options = {});
// Covariances divided by the roots of both variances, from -1 to 1: NaN of a variable that does not vary.
//   corrcoef(Array{{0.f, 1.f, 2.f}, {2.f, 1.f, 0.f}})   // 1 -1, -1 1
Array corrcoef(const Operand& x, const CovOptions& options = {});
Array corrcoef(const Operand& x, const Operand& y, const CovOptions& options = {});

}  // namespace tenon
