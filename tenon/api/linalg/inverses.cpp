// Pseudoinverses and least squares, by singular values.
#include "tenon/api/custom.h"
#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {
namespace {

using matrices::adjoint, matrices::columns_of, matrices::rows_of;

Taken symmetrized_of(std::string_view name, const Operand& given) {
  Taken made = square_of(name, given);
  made.a = matrices::symmetrized(made.a);
  return made;
}

// As many units of rounding, of the dtype that is computed in, as the larger side of a matrix has elements.
Array rounding_of(const Taken& of, double times) {
  const Dim most = max(rows_of(of.a.type()), columns_of(of.a.type()));
  return convert(size_as_array(most), real_part_of(of.a.dtype())) * (times * special::epsilon_of(of.a.dtype()));
}
// A bound for each matrix, beside its values.
Array beside_values(const Array& bound, const Array& values) { return expand_dims(convert(bound, values.dtype()), -1); }

// Values and vectors of a = u·diag(values)·vh, for pseudoinverses.
struct Factors {
  Array u, values, vh;
};
Factors factors_of(const Array& a, bool hermitian) {
  if (hermitian) {
    const Arrays made = hermitian_spectrum(a, true);
    return {made[1], made[0], adjoint(made[1])};
  }
  const Arrays made = singular_spectrum(a, true, false);
  return {made[1], made[0], made[2]};
}
// 1 / values of those that are kept, beside rows.
Array inverse_values(const Factors& of, const Array& kept) {
  return convert(expand_dims(matrices::reciprocal_where(kept, of.values), -1), of.u.dtype());
}
Array pseudoinverse(const Factors& of, const Array& kept) {
  return matmul(adjoint(of.vh), inverse_values(of, kept) * adjoint(of.u));
}
Array more_than(const Factors& of, const Array& rtol) {
  const Array size = abs(of.values);
  return size > beside_values(rtol, size) * amax(size, Axes(-1).keepdims());
}

}  // namespace

namespace {

// A pseudoinverse that is differentiated by pseudoinverses: derivatives of any order divide by no differences of
// values.
//   dp = -p·da·p + p·pᴴ·daᴴ·(1 - a·p) + (1 - p·a)·daᴴ·pᴴ·p (Golub and Pereyra 1973)
Array pseudoinverse_by_rule(const Array& a, const Array& rtol, bool hermitian) {
  const auto value = [hermitian](const Array& of, const Array& bound) {
    const Factors factors = factors_of(of, hermitian);
    return pseudoinverse(factors, more_than(factors, bound));
  };
  const auto rule = [hermitian](const Array& of, const Array& bound, const Array& da, const Array&) {
    const Array p = pseudoinverse_by_rule(of, bound, hermitian), ph = adjoint(p), dah = adjoint(da);
    const Array first = matmul(matmul(p, ph), dah), last = matmul(matmul(dah, ph), p);
    const Array moved = first - matmul(matmul(first, of), p) + last - matmul(p, matmul(of, last));
    return std::pair(p, moved - matmul(p, matmul(da, p)));
  };
  return custom_jvp(value, rule)(a, rtol);
}

}  // namespace

Array pinv(const Operand& a, const PinvOptions& options) {
  const SourceScope place(a.where(), "pinv");
  const Taken x = options.hermitian ? symmetrized_of("pinv", a) : matrix_of("pinv", a);
  if (without_elements(x.a))
    return zeros(matrices::batch_of(x.a.type(), {columns_of(x.a.type()), rows_of(x.a.type())}), x.stored);
  const Array rtol = options.rtol ? *options.rtol : rounding_of(x, 10);
  return x.narrow(pseudoinverse_by_rule(x.a, rtol, options.hermitian));
}

Array matrix_rank(const Operand& a, const RankOptions& options) {
  const SourceScope place(a.where(), "matrix_rank");
  const Taken x = options.hermitian ? symmetrized_of("matrix_rank", a) : matrix_of("matrix_rank", a);
  if (without_elements(x.a)) return zeros(matrices::batch_of(x.a.type()), DType::i32);
  const Array s = options.hermitian ? abs(hermitian_spectrum(x.a, false)[0]) : singular_spectrum(x.a, false, false)[0];
  const Array bound =
      options.tol ? beside_values(*options.tol, s)
                  : beside_values(options.rtol ? *options.rtol : rounding_of(x, 1), s) * amax(s, Axes(-1).keepdims());
  return sum(convert(s > bound, DType::i32), -1);
}

LeastSquares lstsq(const Operand& a, const Operand& b, const LeastSquaresOptions& options) {
  const SourceScope place(a.where(), "lstsq");
  const matrices::Together given = matrices::together({a, b});
  const Taken x{given.all[0], given.stored, given.weak};
  matrices::matrix("lstsq", x.a.type());
  const matrices::RightSides sides = matrices::right_sides("lstsq", a, b, given);
  const Shape batch = matrices::broadcast_batches("lstsq", x.a, sides.columns);
  const Array m = matrices::with_batch(x.a, batch), y = matrices::with_batch(sides.columns, batch);
  const DType part = real_part_of(m.dtype());
  Array bound = rounding_of(x, 1);
  if (options.rcond) {
    bound = convert(*options.rcond, part);
    bound = where(bound < 0.f, convert(special::epsilon_of(part), part), bound);
  }
  const Array apart = expand_dims(expand_dims(bound, -1), -1);  // LAPACK takes bounds between 0 and 1
  const Array inside = clamp(apart, special::least_normal_of(part), 1 - special::epsilon_of(part));
  const Arrays made = least_squares(m, y, broadcast_to(inside, with_axes(batch, {1, 1})));
  const Array& s = made[1];
  const Array found = where(apart < 1.f, made[0], zeros_like(made[0])), off = y - matmul(m, found);
  const Array largest = without_elements(m) ? sum(s, Axes(-1).keepdims()) : slice_in_dim(s, 0, 1, -1);
  const Array rank = sum(convert(s > beside_values(bound, s) * largest, DType::i32), -1);
  return {x.narrow(sides.shaped(found)), x.narrow(matrices::real_along_columns(off, off)), rank, x.narrow(s)};
}

}  // namespace tenon::linalg
