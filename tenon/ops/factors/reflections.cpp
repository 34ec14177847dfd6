#include "tenon/ops/factors/reflections.h"

#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/dot.h"
#include "tenon/ops/factors/matrices.h"
#include "tenon/ops/linear_algebra.h"
#include "tenon/ops/shape.h"

namespace tenon::matrices {

Array reflection_vectors(const Array& h, const Dim& k) {
  const Array part = slice_in_dim(h, 0, k, -1);
  return triangle(part, true, 1) + convert(on_diagonal(part), h.dtype());
}

namespace {

Array factor_system(const Array& v, const Array& taus) {
  return expand_dims(taus, -1) * triangle(matmul(adjoint(v), v), false, 1);
}
constexpr TriangularOptions unit_upper{.left_side = true, .unit_diagonal = true};

}  // namespace

Array reflected(const Array& v, const Array& taus, const Array& x, bool backwards) {
  const Array along = matmul(adjoint(v), x), factors = expand_dims(taus, -1), system = factor_system(v, taus);
  if (!backwards) return x - matmul(v, triangular_solve(system, factors * along, unit_upper));
  TriangularOptions turned = unit_upper;
  turned.transpose_a = turned.conjugate_a = true;
  const Array made = triangular_solve(system, along, turned);
  return x - matmul(v, (is_complex(taus.dtype()) ? conj(factors) : factors) * made);
}

Array reflected_axes(const Array& v, const Array& taus, const Dim& n) {
  const Array along = adjoint(slice_in_dim(v, 0, n, -2));
  const Array moved = matmul(v, triangular_solve(factor_system(v, taus), expand_dims(taus, -1) * along, unit_upper));
  return convert(on_diagonal(moved), v.dtype()) - moved;
}

}  // namespace tenon::matrices
