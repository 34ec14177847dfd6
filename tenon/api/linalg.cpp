#include "tenon/api/linalg.h"

#include <fmt/format.h>

#include "tenon/api/custom.h"
#include "tenon/api/loops.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/dot.h"
#include "tenon/ops/factors/matrices.h"
#include "tenon/ops/factors/spectra.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/shape.h"

namespace tenon {
namespace {

using matrices::adjoint, matrices::columns_of, matrices::narrowed, matrices::rows_of;

// A matrix in the dtype that it is computed in, and what results become.
struct Taken {
  Array a;
  DType stored;
  bool weak;
  Array narrow(const Array& x) const {  // real numbers of complex matrices are stored in parts of that size
    return narrowed(x,
                    is_complex(x.dtype()) == is_complex(stored) ? stored
                    : is_complex(x.dtype())                     ? x.dtype()
                                                                : real_part_of(stored),
                    weak);
  }
};
Taken matrix_of(std::string_view name, const Operand& given) {
  const Array x = to_inexact(given.array());
  Taken made{widened(x), x.dtype(), x.weak()};
  matrices::matrix(name, made.a.type());
  return made;
}
Taken square_of(std::string_view name, const Operand& given) {
  Taken made = matrix_of(name, given);
  matrices::square(name, made.a.type());
  return made;
}

Taken hermitian_of(std::string_view name, const Operand& given, const linalg::EighOptions& options) {
  Taken made = square_of(name, given);
  if (options.symmetrize)
    made.a = matrices::symmetrized(made.a);
  else if (!options.lower)
    made.a = adjoint(made.a);
  return made;
}

bool without_elements(const Array& x) {
  return rows_of(x.type()).try_value().value_or(1) == 0 || columns_of(x.type()).try_value().value_or(1) == 0;
}

double unit_of_rounding(DType dtype) {
  switch (real_part_of(dtype)) {
    case DType::f64:
      return 0x1p-52;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}
// As many units of rounding as the larger side of a matrix has elements.
Array rounding_of(const Taken& of, double times) {
  const Dim most = max(rows_of(of.a.type()), columns_of(of.a.type()));
  return convert(size_as_array(most), real_part_of(of.a.dtype())) * (times * unit_of_rounding(of.stored));
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

namespace linalg {

Eigh eigh(const Operand& a, const EighOptions& options) {
  const SourceScope place(a.where(), "eigh");
  const Taken x = hermitian_of("eigh", a, options);
  const Arrays made = hermitian_spectrum(x.a, true);
  return {x.narrow(made[0]), x.narrow(made[1])};
}
Array eigvalsh(const Operand& a, const EighOptions& options) {
  const SourceScope place(a.where(), "eigvalsh");
  const Taken x = hermitian_of("eigvalsh", a, options);
  return x.narrow(hermitian_spectrum(x.a, false)[0]);
}

Eig eig(const Operand& a) {
  const SourceScope place(a.where(), "eig");
  const Taken x = square_of("eig", a);
  const Arrays made = general_spectrum(x.a, false, true);
  return {x.narrow(made[0]), x.narrow(made[1])};
}
EigOfBothSides eig_of_both_sides(const Operand& a) {
  const SourceScope place(a.where(), "eig_of_both_sides");
  const Taken x = square_of("eig_of_both_sides", a);
  const Arrays made = general_spectrum(x.a, true, true);
  return {x.narrow(made[0]), x.narrow(made[1]), x.narrow(made[2])};
}
Array eigvals(const Operand& a) {
  const SourceScope place(a.where(), "eigvals");
  const Taken x = square_of("eigvals", a);
  return x.narrow(general_spectrum(x.a, false, false)[0]);
}

Svd svd(const Operand& a, const SvdOptions& options) {
  const SourceScope place(a.where(), "svd");
  const Taken x = matrix_of("svd", a);
  const Arrays made = singular_spectrum(x.a, true, options.full_matrices);
  return {x.narrow(made[1]), x.narrow(made[0]), x.narrow(made[2])};
}
Array svdvals(const Operand& a) {
  const SourceScope place(a.where(), "svdvals");
  const Taken x = matrix_of("svdvals", a);
  return x.narrow(singular_spectrum(x.a, false, false)[0]);
}

Schur schur(const Operand& a, const SchurOptions& options) {
  const SourceScope place(a.where(), "schur");
  Taken x = square_of("schur", a);
  if (options.complex && !is_complex(x.a.dtype())) x.a = convert(x.a, complex_of(x.a.dtype()));
  const Arrays made = schur_form(x.a, true);
  return {x.narrow(made[0]), x.narrow(made[1])};
}

Array pinv(const Operand& a, const PinvOptions& options) {
  const SourceScope place(a.where(), "pinv");
  const bool hermitian = options.hermitian;
  const Taken x = hermitian ? hermitian_of("pinv", a, {}) : matrix_of("pinv", a);
  if (without_elements(x.a))
    return zeros(matrices::batch_of(x.a.type(), {columns_of(x.a.type()), rows_of(x.a.type())}), x.stored);
  const Array rtol = options.rtol ? *options.rtol : rounding_of(x, 10);
  const auto value = [hermitian](const Array& of, const Array& bound) {
    const Factors factors = factors_of(of, hermitian);
    return pseudoinverse(factors, more_than(factors, bound));
  };
  // dp = -p·da·p + p·pᴴ·daᴴ·(1 - a·p) + (1 - p·a)·daᴴ·pᴴ·p (Golub and Pereyra 1973).
  const auto rule = [value](const Array& of, const Array& bound, const Array& da, const Array&) {
    const Array p = value(of, bound), ph = adjoint(p), dah = adjoint(da);
    const Array first = matmul(matmul(p, ph), dah), last = matmul(matmul(dah, ph), p);
    const Array moved = first - matmul(matmul(first, of), p) + last - matmul(p, matmul(of, last));
    return std::pair(p, moved - matmul(p, matmul(da, p)));
  };
  return x.narrow(custom_jvp(value, rule, a.where())(x.a, rtol));
}

Array matrix_rank(const Operand& a, const RankOptions& options) {
  const SourceScope place(a.where(), "matrix_rank");
  const Taken x = options.hermitian ? hermitian_of("matrix_rank", a, {}) : matrix_of("matrix_rank", a);
  if (without_elements(x.a)) return zeros(matrices::batch_of(x.a.type()), DType::i32);
  const Array s = options.hermitian ? abs(hermitian_spectrum(x.a, false)[0]) : singular_spectrum(x.a, false, false)[0];
  const Array bound =
      options.tol ? beside_values(*options.tol, s)
                  : beside_values(options.rtol ? *options.rtol : rounding_of(x, 1), s) * amax(s, Axes(-1).keepdims());
  return sum(convert(s > bound, DType::i32), -1);
}

}  // namespace linalg

namespace {

// x and s of least squares, whose derivatives divide by no differences of singular values.
using Solved = std::tuple<Array, Array>;
Array kept_of(const Array& s, const Array& rcond) {
  return (s > 0) & (s >= beside_values(rcond, s) * slice_in_dim(s, 0, 1, -1));
}
Solved solved(const Array& a, const Array& b, const Array& rcond) {
  const Factors f = factors_of(a, false);
  const Array along = inverse_values(f, kept_of(f.values, rcond)) * matmul(adjoint(f.u), b);
  return {matmul(adjoint(f.vh), along), f.values};
}
// With p = pinv(a): dx = p·(db - da·x) + p·pᴴ·daᴴ·(b - a·x) + (1 - p·a)·daᴴ·pᴴ·x.
std::pair<Solved, Solved> solved_rule(const Array& a, const Array& b, const Array& rcond, const Array& da,
                                      const Array& db, const Array&) {
  const Factors f = factors_of(a, false);
  const Array p = pseudoinverse(f, kept_of(f.values, rcond)), ph = adjoint(p), dah = adjoint(da);
  const Array x = matmul(p, b), rest = b - matmul(a, x), turned = matmul(dah, matmul(ph, x));
  const Array dx =
      matmul(p, db - matmul(da, x)) + matmul(p, matmul(ph, matmul(dah, rest))) + turned - matmul(p, matmul(a, turned));
  return {{x, f.values}, {dx, matrices::real_along_columns(f.u, matmul(da, adjoint(f.vh)))}};
}

}  // namespace

namespace linalg {

LeastSquares lstsq(const Operand& a, const Operand& b, const LeastSquaresOptions& options) {
  const SourceScope place(a.where(), "lstsq");
  const Met met = in_one_dtype(Arrays{to_inexact(a.array()), to_inexact(b.array())});
  const Taken x{widened(met.operands[0]), met.operands[0].dtype(), met.weak};
  const Array& m = x.a;
  Array y = widened(met.operands[1]);
  matrices::matrix("lstsq", m.type());
  const bool vector = y.rank() == 1;
  if (y.rank() == 0)
    throw ShapeError(fmt::format("lstsq: the right side {} is a number.", y.type().text()),
                     "Give a vector, or columns side by side.");
  if (vector) y = expand_dims(y, 1);
  if (rows_of(y.type()) != rows_of(m.type()) && y.shape().known() && m.shape().known())
    throw ShapeError(fmt::format("lstsq: {} and right sides {}: sizes {} and {} differ.", a->type().text(),
                                 b->type().text(), rows_of(m.type()).text(), rows_of(y.type()).text()),
                     "The right sides have as many rows as the matrix.");
  const DType part = real_part_of(m.dtype());
  if (without_elements(m)) {
    const Array none = matmul(adjoint(m), y);  // zeros, of its shape
    return {x.narrow(vector ? squeeze(none, -1) : none), x.narrow(matrices::real_along_columns(y, y)),
            zeros(matrices::batch_of(m.type()), DType::i32),
            zeros(matrices::batch_of(m.type(), {0}), real_part_of(x.stored))};
  }
  const double one = unit_of_rounding(x.stored);
  const Array rcond =
      options.rcond ? where(convert(*options.rcond, part) < 0.f, convert(one, part), convert(*options.rcond, part))
                    : rounding_of(x, 1);
  matrices::broadcast_batches("lstsq", m, y);  // throws where they do not go together
  const auto [found, s] = custom_jvp(solved, solved_rule, a.where())(m, y, rcond);
  const Array off = y - matmul(m, found);
  const Array rank = sum(convert(kept_of(s, rcond), DType::i32), -1);
  return {x.narrow(vector ? squeeze(found, -1) : found), x.narrow(matrices::real_along_columns(off, off)), rank,
          x.narrow(s)};
}

Polar polar(const Operand& a, const PolarOptions& options) {
  const SourceScope place(a.where(), "polar");
  const Taken x = matrix_of("polar", a);
  const Array given = options.left ? adjoint(x.a) : x.a;
  const auto value = [](const Array& of) {
    const Factors f = factors_of(of, false);
    const Array scaled = convert(expand_dims(f.values, -1), of.dtype()) * f.vh;
    return std::tuple(matmul(f.u, f.vh), matmul(adjoint(f.vh), scaled));
  };
  // With c = uᴴ·da·v in singular vectors: what u turns by is (c - cᴴ) / (s[i] + s[j]); dp is what is left of da.
  // Columns that are more than rows, or rows more than columns, move at right angles to the others too (Higham
  // 2008, 8.2).
  const auto rule = [value](const Array& of, const Array& da) {
    const Factors f = factors_of(of, false);
    const Array v = adjoint(f.vh), inner = matmul(matmul(adjoint(f.u), da), v);
    const Array sums = convert(expand_dims(f.values, -1) + expand_dims(f.values, -2), of.dtype());
    const Array by_row = convert(expand_dims(f.values, -2), of.dtype());
    Array turn = matmul(matmul(f.u, (inner - adjoint(inner)) / sums), f.vh);
    const Array da_v = matmul(da, v), back = matmul(adjoint(da), f.u);
    const Dim k = f.values.shape()[f.values.rank() - 1];
    if (!decided_equal(rows_of(of.type()), k).value_or(false))
      turn = turn + matmul((da_v - matmul(f.u, inner)) / by_row, f.vh);
    if (!decided_equal(columns_of(of.type()), k).value_or(false))
      turn = turn + matmul(f.u, adjoint((back - matmul(v, adjoint(inner))) / by_row));
    const Array u = matmul(f.u, f.vh);
    const Array p = matmul(v, convert(expand_dims(f.values, -1), of.dtype()) * f.vh);
    const Array dp = matmul(adjoint(u), da) + matmul(adjoint(turn), of);
    return std::pair(std::tuple(u, p), std::tuple(turn, dp));
  };
  const auto [u, p] = custom_jvp(value, rule, a.where())(given);
  return {x.narrow(options.left ? adjoint(u) : u), x.narrow(p)};
}

Array sqrtm(const Operand& a) {
  const SourceScope place(a.where(), "sqrtm");
  const Schur form = schur(a, {.complex = true});
  const Array& t = form.t;
  if (without_elements(t)) return t;
  const auto rank = static_cast<std::int64_t>(t.rank());
  const Dim n = rows_of(t.type());
  const Array row = iota(DType::i32, t.shape(), rank - 2), column = iota(DType::i32, t.shape(), rank - 1);
  Array values = matrices::diagonal(t);
  if (!is_complex(to_inexact(a.array()).dtype())) {  // what is real of a real matrix: i√x of -x, not -i√x
    const Array size = amax(abs(values), Axes(-1).keepdims()) * (100 * unit_of_rounding(t.dtype()));
    values = complex(real(values), where(abs(imag(values)) <= size, zeros_like(size), imag(values)));
  }
  const Array roots = sqrt(values), none = zeros_like(t);
  // Column j above the diagonal: (r + r[j, j])·x = t of the rows before j, r as far as it is known.
  const Array r = fori_loop(
      0, size_as_array(n),
      [&](const Array& step, const Array& known) {
        const Array j = convert(step, DType::i32);
        const Array root = expand_dims(
            expand_dims(sum(where(iota(DType::i32, roots.shape(), rank - 2) == j, roots, zeros_like(roots)), -1), -1),
            -1);
        const Array before = (row < j) & (column < j);
        const Array system =
            where(before, known, none) + where(row == column, where(row < j, root, ones_like(t)), none);
        const Array right = sum(where((row < j) & (column == j), t, none), Axes(-1).keepdims());
        const Array x = triangular_solve(system, right, {.left_side = true});
        return known + where(column == j, where(row == j, root, broadcast_to(x, t.shape())), none);
      },
      none);
  return matmul(matmul(form.z, r), adjoint(form.z));
}

}  // namespace linalg
}  // namespace tenon
