// Eigenvalues and singular values.
#include <fmt/format.h>

#include <array>

#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {

static Taken hermitian_of(std::string_view name, const Operand& given, const EighOptions& options) {
  Taken made = square_of(name, given);
  if (options.symmetrize)
    made.a = matrices::symmetrized(made.a);
  else if (!options.lower)
    made.a = matrices::adjoint(made.a);
  return made;
}

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

namespace {

// The one Hermitian matrix whose eigenvalues are those of a and b = root·rootᴴ, and what its eigenvectors become.
struct OfPair {
  Taken x;
  Array root;
  std::int64_t type;
  // rootᴴ turns eigenvectors of types 1 and 2 into those of x.
  Array turned(const Array& y) const {
    return type == 3 ? matmul(root, y)
                     : triangular_solve(root, y,
                                        {.left_side = true, .lower = true, .transpose_a = true, .conjugate_a = true});
  }
};
OfPair of_pair(std::string_view name, const Operand& a, const Operand& b, const GeneralizedEighOptions& options) {
  if (options.type < 1 || options.type > 3)
    throw ShapeError(fmt::format("{}: there is no type {}.", name, options.type),
                     "1: a·v = b·v·w, 2: a·b·v = v·w, 3: b·a·v = v·w.");
  const matrices::Together given = matrices::together({a, b});
  for (const Array& each : given.all) matrices::square(name, each.type());
  if (!decided_equal(matrices::rows_of(given.all[0].type()), matrices::rows_of(given.all[1].type())).value_or(true))
    throw ShapeError(fmt::format("{}: {} and {} differ in size.", name, a->type().text(), b->type().text()),
                     "Give two matrices of as many rows and columns each.");
  const Shape batch = matrices::broadcast_batches(name, given.all[0], given.all[1]);
  const auto hermitian = [&](const Array& x) {
    const Array whole =
        options.symmetrize ? matrices::symmetrized(x) : matrices::hermitian(options.lower ? x : matrices::adjoint(x));
    return matrices::with_batch(whole, batch);
  };
  const Array first = hermitian(given.all[0]), root = cholesky(hermitian(given.all[1]), {.symmetrize = false});
  Array inner;
  if (options.type == 1) {
    const Array half = triangular_solve(root, first, {.left_side = true, .lower = true});
    inner = triangular_solve(root, half, {.lower = true, .transpose_a = true, .conjugate_a = true});
  } else {
    inner = matmul(matmul(matrices::adjoint(root), first), root);
  }
  return {{matrices::symmetrized(inner), given.stored, given.weak}, root, options.type};
}

}  // namespace

Eigh eigh(const Operand& a, const Operand& b, const GeneralizedEighOptions& options) {
  const SourceScope place(a.where(), "eigh");
  const OfPair pair = of_pair("eigh", a, b, options);
  const Arrays made = hermitian_spectrum(pair.x.a, true);
  return {pair.x.narrow(made[0]), pair.x.narrow(pair.turned(made[1]))};
}
Array eigvalsh(const Operand& a, const Operand& b, const GeneralizedEighOptions& options) {
  const SourceScope place(a.where(), "eigvalsh");
  const OfPair pair = of_pair("eigvalsh", a, b, options);
  return pair.x.narrow(hermitian_spectrum(pair.x.a, false)[0]);
}

namespace {

// The lower triangle of the matrix with these diagonals, and which of its eigenvalues are wanted.
struct OfDiagonals {
  Taken x;
  Dim first, end;
  Array part(const Array& values) const { return x.narrow(slice_in_dim(values, first, end, -1)); }
};
OfDiagonals of_diagonals(std::string_view name, const Operand& diagonal, const Operand& below,
                         const EighTridiagonalOptions& options) {
  const matrices::Together given = matrices::together({diagonal, below});
  const Array &d = given.all[0], &e = given.all[1];
  const auto last_axis = [](const Array& x) { return x.shape()[x.rank() - 1]; };
  const bool vectors = d.rank() > 0 && e.rank() > 0;
  const Dim n = vectors ? last_axis(d) : 0;
  if (!vectors || !decided_equal(last_axis(e), max(n - 1, 0)).value_or(true))
    throw ShapeError(
        fmt::format("{}: diagonals {} and {} do not go together.", name, diagonal->type().text(), below->type().text()),
        "The main diagonal is [..., n], the one below it [..., n - 1].");
  const Dim first = options.first.value_or(0), end = options.last ? Dim(*options.last) + 1 : n;
  if (decided_less(first, 0).value_or(false) || decided_less(n, end).value_or(false) ||
      ((options.first || options.last) && !decided_less(first, end).value_or(true)))
    throw ShapeError(fmt::format("{}: of {} eigenvalues there are none from index {} to {}.", name, n.text(),
                                 first.text(), (end - 1).text()),
                     "Give first <= last, both from 0 on and less than n.");
  // A column of each, in one batch; the element of a row below the diagonal stands in that row.
  const Array main = expand_dims(d, -1), beside = expand_dims(e, -1);
  const Shape batch = matrices::broadcast_batches(name, main, beside);
  const Array column = matrices::with_batch(main, batch);
  const Shape square = with_axes(batch, {n, n});
  const Array under =
      n.try_value() == 0
          ? column
          : concatenate({zeros_like(slice_in_dim(column, 0, 1, -2)), matrices::with_batch(beside, batch)}, -2);
  const Array wide = broadcast_to(column, square), row = matrices::row_index(wide), at = matrices::column_index(wide);
  const Array lower = where(row == at + 1, broadcast_to(under, square), zeros_like(wide));
  return {{where(row == at, wide, lower), given.stored, given.weak}, first, end};
}

}  // namespace

Eigh eigh_tridiagonal(const Operand& diagonal, const Operand& below, const EighTridiagonalOptions& options) {
  const SourceScope place(diagonal.where(), "eigh_tridiagonal");
  const OfDiagonals of = of_diagonals("eigh_tridiagonal", diagonal, below, options);
  const Arrays made = hermitian_spectrum(of.x.a, true);
  return {of.part(made[0]), of.part(made[1])};
}
Array eigvalsh_tridiagonal(const Operand& diagonal, const Operand& below, const EighTridiagonalOptions& options) {
  const SourceScope place(diagonal.where(), "eigvalsh_tridiagonal");
  const OfDiagonals of = of_diagonals("eigvalsh_tridiagonal", diagonal, below, options);
  return of.part(hermitian_spectrum(of.x.a, false)[0]);
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

// By eigenvalues: the largest in size first, and the sign of each in a column of u.
static Svd svd_of_hermitian(const Operand& a) {
  const Taken x = hermitian_of("svd", a, {});
  const Arrays spectrum = hermitian_spectrum(x.a, true);
  const Array &w = spectrum[0], &v = spectrum[1], size = abs(w);
  const Array order = argsort(size, -1, {.descending = true}), columns = expand_dims(order, -2);
  const auto ordered = [&](const Array& each) {
    return take_along_axis(each, broadcast_to(columns, each.shape()), -1);
  };
  const Array one = ones_like(size), turn = convert(expand_dims(where(w < 0.f, -one, one), -2), v.dtype());
  return {x.narrow(ordered(v * turn)), x.narrow(take_along_axis(size, order, -1)),
          x.narrow(matrices::adjoint(ordered(v)))};
}

Svd svd(const Operand& a, const SvdOptions& options) {
  const SourceScope place(a.where(), "svd");
  if (options.hermitian) return svd_of_hermitian(a);
  const Taken x = matrix_of("svd", a);
  const Arrays made = singular_spectrum(x.a, true, options.full_matrices);
  return {x.narrow(made[1]), x.narrow(made[0]), x.narrow(made[2])};
}
Array svdvals(const Operand& a, const SvdvalsOptions& options) {
  const SourceScope place(a.where(), "svdvals");
  if (options.hermitian) {
    const Taken x = hermitian_of("svdvals", a, {});
    return x.narrow(sort(abs(hermitian_spectrum(x.a, false)[0]), -1, {.descending = true}));
  }
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

Schur rsf2csf(const Operand& t, const Operand& z) {
  const SourceScope place(t.where(), "rsf2csf");
  const matrices::Together given = matrices::together({t, z});
  const DType dtype = complex_of(given.all[0].dtype());
  const Array form = convert(given.all[0], dtype), turn = convert(given.all[1], dtype);
  matrices::square("rsf2csf", form.type());
  matrices::matrix("rsf2csf", turn.type());
  if (!decided_equal(matrices::columns_of(turn.type()), matrices::rows_of(form.type())).value_or(true))
    throw ShapeError(fmt::format("rsf2csf: t {} and z {} do not go together.", t->type().text(), z->type().text()),
                     "Give both as schur() makes them, [..., n, n].");
  const Shape batch = matrices::broadcast_batches("rsf2csf", form, turn);
  const Arrays made = schur_form(form, true);
  return {matrices::with_batch(made[0], batch), matmul(matrices::with_batch(turn, batch), made[1])};
}

}  // namespace tenon::linalg
