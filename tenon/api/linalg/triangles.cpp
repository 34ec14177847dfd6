// L·U, Q·R and forms by reflections.
#include <fmt/format.h>

#include "tenon/api/custom.h"
#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/loops.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/reflections.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {
namespace {

using matrices::adjoint, matrices::columns_of, matrices::rows_of, matrices::unit_like;

// The rows of x in this order.
Array rows_in_order(const Array& x, const Array& order) {
  return take_along_axis(x, broadcast_to(expand_dims(order, -1), x.shape()), -2);
}

// A system by factors of its matrix, [..., n, n], and the batch in which these and the right sides meet.
struct Factored {
  matrices::Together given;
  matrices::RightSides right;
  Shape batch;
  const Array& factors() const { return given.all[0]; }
  Array sides() const { return matrices::with_batch(right.columns, batch); }
  Array result(const Array& x) const { return given.narrow(right.shaped(x)); }
};
Factored factored(std::string_view name, const Operand& factors, const Operand& b) {
  matrices::Together given = matrices::together({factors, b});
  matrices::square(name, given.all[0].type());
  matrices::RightSides right = matrices::right_sides(name, factors, b, given);
  Shape batch = matrices::broadcast_batches(name, given.all[0], right.columns);
  return {std::move(given), std::move(right), std::move(batch)};
}

}  // namespace

Array cho_factor(const Operand& a, const FactorOptions& options) {
  const SourceScope place(a.where(), "cho_factor");
  const Taken x = square_of("cho_factor", a);
  const Array lower = cholesky(options.lower ? x.a : adjoint(x.a), {.symmetrize = false});
  return x.narrow(options.lower ? lower : adjoint(lower));
}

Array cho_solve(const Operand& factor, const Operand& b, const FactorOptions& options) {
  const SourceScope place(factor.where(), "cho_solve");
  const Factored of = factored("cho_solve", factor, b);
  const Array& x = of.factors();
  const Array one = x.rank() == 2 ? x : matrices::with_batch(x, of.batch);
  const auto solved = [&](const Array& sides, bool turned) {
    const TriangularOptions by{.left_side = true, .lower = options.lower, .transpose_a = turned, .conjugate_a = turned};
    return triangular_solve(one, sides, by);
  };
  return of.result(solved(solved(of.sides(), !options.lower), options.lower));
}

LuFactors lu_factor(const Operand& a) {
  const SourceScope place(a.where(), "lu_factor");
  const Taken x = matrix_of("lu_factor", a);
  const Arrays made = lu_factors(x.a);
  return {x.narrow(made[0]), made[1], made[2]};
}

Lu lu(const Operand& a) {
  const SourceScope place(a.where(), "lu");
  const Taken x = matrix_of("lu", a);
  const Arrays made = lu_factors(x.a);
  const Array& factors = made[0];
  const Dim m = rows_of(factors.type()), k = min(m, columns_of(factors.type()));
  const Array lower = matrices::reflection_vectors(factors, k);
  const Array upper = matrices::triangle(slice_in_dim(factors, 0, k, -2), false);
  const Array rows = expand_dims(arange(m, DType::i32), 1);
  return {x.narrow(convert(rows == expand_dims(made[2], -2), factors.dtype())), x.narrow(lower), x.narrow(upper)};
}

Array lu_pivots_to_permutation(const Operand& pivots, const Dim& rows) {
  const SourceScope place(pivots.where(), "lu_pivots_to_permutation");
  const Array given = pivots.array();
  if (!is_integer(given.dtype()) || given.rank() == 0)
    throw DTypeError(fmt::format("lu_pivots_to_permutation: {} are no pivots.", given.type().text()),
                     "Give vectors of integers, as lu_factor() makes them.");
  const Dim steps = given.shape()[given.rank() - 1];
  if (steps.known() && rows.known() && steps.value() > rows.value())
    throw ShapeError(fmt::format("lu_pivots_to_permutation: {} pivots of {} rows.", steps.text(), rows.text()),
                     "There are not more pivots than rows.");
  Shape shape = given.shape();
  const auto last = static_cast<std::int64_t>(shape.rank()) - 1;
  const Array exchanged = convert(given, DType::i32), place_of = iota(DType::i32, shape, last);
  shape[shape.rank() - 1] = rows;
  const Array start = iota(DType::i32, shape, last);
  if (steps.try_value() == 0) return start;
  return fori_loop(
      0, size_as_array(steps),
      [&](const Array& step, const Array& order) {
        const Array k = convert(step, DType::i32);
        const Array other = sum(where(place_of == k, exchanged, zeros_like(exchanged)), Axes(-1).keepdims());
        const auto at = [&](const Array& index) {
          return sum(where(start == index, order, zeros_like(order)), Axes(-1).keepdims());
        };
        const Array here = at(k), there = at(other);
        return where(start == k, there, where(start == other, here, order));
      },
      start);
}

Array lu_solve(const Operand& factors, const Operand& pivots, const Operand& b, const LuSolveOptions& options) {
  const SourceScope place(factors.where(), "lu_solve");
  const Factored of = factored("lu_solve", factors, b);
  const Array all = matrices::with_batch(of.factors(), of.batch), sides = of.sides();
  const Dim n = rows_of(of.factors().type());
  const Array turns = broadcast_to(lu_pivots_to_permutation(pivots, n), with_axes(of.batch, {n}));
  const TriangularOptions lower{.left_side = true,
                                .lower = true,
                                .transpose_a = options.transpose,
                                .conjugate_a = options.conjugate,
                                .unit_diagonal = true};
  const TriangularOptions upper{.left_side = true, .transpose_a = options.transpose, .conjugate_a = options.conjugate};
  if (options.transpose) {
    const Array x = triangular_solve(all, triangular_solve(all, sides, upper), lower);
    return of.result(rows_in_order(x, argsort(turns)));
  }
  return of.result(triangular_solve(all, triangular_solve(all, rows_in_order(sides, turns), lower), upper));
}

namespace {

// The sign of the order of rows that elimination made.
Array sign_of(const Array& pivots, DType dtype) {
  const Array places = iota(DType::i32, pivots.shape(), static_cast<std::int64_t>(pivots.rank()) - 1);
  const Array exchanges = sum(convert(pivots != places, DType::i32), -1);
  return convert(1 - 2 * (exchanges % 2), dtype);
}

Array written_out(const Array& a, std::int64_t n) {
  const auto batch = matrices::batch_of(a.type());
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return reshape(slice_in_dim(slice_in_dim(a, i, i + 1, -2), j, j + 1, -1), batch);
  };
  if (n == 1) return at(0, 0);
  if (n == 2) return at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
  const auto minor = [&](std::int64_t i, std::int64_t j) { return at(1, i) * at(2, j) - at(1, j) * at(2, i); };
  return at(0, 0) * minor(1, 2) - at(0, 1) * minor(0, 2) + at(0, 2) * minor(0, 1);
}

// A number for each matrix, beside its elements.
Array beside_elements(const Array& each) { return expand_dims(expand_dims(each, -1), -1); }

// What solves a·x = det(a), and is finite where a has no inverse: of a = p⁻¹·l·u it is ± adj(u)·l⁻¹·p, and of u with a
// last pivot ρ, det(u₁)·[[ρ·u₁⁻¹, -u₁⁻¹·r], [0, 1]]. Where an earlier pivot is 0 it is 0 as long as the columns are in
// such an order that no other follows.
Array adjugate_in_order(const Array& a) {
  const Arrays factors = lu_factors(a);
  const Array& lu = factors[0];
  const Dim n = rows_of(lu.type());
  const Array turned = rows_in_order(unit_like(lu), factors[2]) * beside_elements(sign_of(factors[1], lu.dtype()));
  const Array m = triangular_solve(lu, turned, {.left_side = true, .lower = true, .unit_diagonal = true});
  const auto rows = [&](const Array& x, const Dim& from, const Dim& to) { return slice_in_dim(x, from, to, -2); };
  const auto columns = [&](const Array& x, const Dim& from, const Dim& to) { return slice_in_dim(x, from, to, -1); };
  const Array head = rows(lu, 0, n - 1), u1 = columns(head, 0, n - 1), r = columns(head, n - 1, n);
  const Array last = columns(rows(lu, n - 1, n), n - 1, n), top = rows(m, 0, n - 1), bottom = rows(m, n - 1, n);
  const Array size = beside_elements(prod(matrices::diagonal(u1), -1)), none = size == 0;
  const Array divisible = where(none, unit_like(u1), u1);
  const Array above = triangular_solve(divisible, last * top - matmul(r, bottom), {.left_side = true});
  return concatenate({size * where(none, zeros_like(above), above), size * bottom}, -2);
}

// Each branch has factors of its own: those of a matrix with an early pivot of 0 have no derivative.
Array adjugate(const Array& a) {
  const Array diagonal = matrices::diagonal(lu_factors(stop_gradient(a))[0]);
  const Array early = slice_in_dim(diagonal, 0, rows_of(a.type()) - 1, -1) == 0;
  return cond(
      any(early),
      [](const Array& x) {
        // Columns in the order of what is left of them: pivots of 0 come last. adj(a) is det(q)·q·adj(a·q).
        const Array order = qr_reflections(stop_gradient(x), true)[2];
        const Array q =
            convert(expand_dims(arange(rows_of(x.type()), DType::i32), 1) == expand_dims(order, -2), x.dtype());
        const Array sign = sign_of(lu_factors(q)[1], x.dtype());
        return beside_elements(sign) * matmul(q, adjugate_in_order(in_order(x, order)));
      },
      [](const Array& x) { return adjugate_in_order(x); }, a);
}

}  // namespace

Array det(const Operand& a) {
  const SourceScope place(a.where(), "det");
  const Taken x = square_of("det", a);
  const Dim n = rows_of(x.a.type());
  if (n.known() && n.value() == 0) return x.narrow(ones(matrices::batch_of(x.a.type()), x.a.dtype()));
  if (n.known() && n.value() <= 3) return x.narrow(written_out(x.a, n.value()));
  const auto value = [](const Array& of) {
    const Arrays factors = lu_factors(of);
    return sign_of(factors[1], of.dtype()) * prod(matrices::diagonal(factors[0]), -1);
  };
  const auto rule = [value](const Array& of, const Array& da) {
    return std::pair(value(of), sum(matrices::transposed(adjugate(of)) * da, Axes{-2, -1}));
  };
  return x.narrow(custom_jvp(value, rule, a.where())(x.a));
}

Slogdet slogdet(const Operand& a) {
  const SourceScope place(a.where(), "slogdet");
  const Taken x = square_of("slogdet", a);
  using Pair = std::tuple<Array, Array>;
  const auto value = [](const Array& of) -> Pair {
    const Arrays made = lu_factors(of);
    const Array pivots = matrices::diagonal(made[0]), size = abs(pivots), none = size == 0;
    const Array units =
        where(none, zeros_like(pivots), pivots / convert(where(none, ones_like(size), size), of.dtype()));
    return {sign_of(made[1], of.dtype()) * prod(units, -1), sum(log(size), -1)};
  };
  // d log det a = tr(a⁻¹·da), whose imaginary part turns the sign.
  const auto rule = [value](const Array& of, const Array& da) {
    const Pair made = value(of);
    const Array turn = sum(matrices::diagonal(solve(of, da)), -1);
    const Array& sign = std::get<0>(made);
    if (!is_complex(of.dtype())) return std::pair(made, Pair(zeros_like(sign), turn));
    return std::pair(made, Pair(complex(zeros_like(imag(turn)), imag(turn)) * sign, real(turn)));
  };
  const auto [sign, size] = custom_jvp(value, rule, a.where())(x.a);
  return {x.narrow(sign), x.narrow(size)};
}

namespace {

// q with k columns or all, r, and the order of columns where there is one.
Arrays made_by_reflections(const Array& a, bool pivoting, bool full) {
  const Arrays made = qr_reflections(a, pivoting);
  const Array& h = made[0];
  const Dim m = rows_of(h.type()), n = columns_of(h.type()), k = min(m, n), wide = full ? m : k;
  Array vectors = slice_in_dim(h, 0, k, -1);
  if (!decided_equal(wide, k).value_or(false))
    vectors = concatenate({vectors, zeros(matrices::batch_of(h.type(), {m, wide - k}), h.dtype())}, -1);
  Arrays out{reflections_product(vectors, made[1]), matrices::triangle(slice_in_dim(h, 0, wide, -2), false)};
  if (pivoting) out.push_back(made[2]);
  return out;
}

// No reflection changes a column that is 0 below its diagonal, and one beside it turns around: the derivative is that
// of q and r, not of the reflections, where these two say what it is.
Arrays qr_of(const Array& a, bool pivoting, bool full, const Source& where) {
  const Dim m = rows_of(a.type()), n = columns_of(a.type());
  if (full && !decided_equal(min(m, n), m).value_or(false)) return made_by_reflections(a, pivoting, true);
  const auto value = [pivoting](const Array& of) { return made_by_reflections(of, pivoting, false); };
  const auto rule = [pivoting, where](const Array& of, const Array& da) {
    const Arrays made = qr_of(of, pivoting, false, where);  // which have this derivative again
    const FactorsOfQr slope = slope_of_qr(made[0], made[1], pivoting ? in_order(da, made[2]) : da);
    Arrays tangents{slope.q, slope.r};
    if (pivoting) tangents.push_back(zeros_like(made[2]));
    return std::pair(made, tangents);
  };
  return custom_jvp(value, rule, where)(a);
}

}  // namespace

Qr qr(const Operand& a, const QrOptions& options) {
  const SourceScope place(a.where(), "qr");
  const Taken x = matrix_of("qr", a);
  const Arrays made = qr_of(x.a, false, options.full_matrices, a.where());
  return {x.narrow(made[0]), x.narrow(made[1])};
}
PivotedQr pivoted_qr(const Operand& a, const QrOptions& options) {
  const SourceScope place(a.where(), "pivoted_qr");
  const Taken x = matrix_of("pivoted_qr", a);
  const Arrays made = qr_of(x.a, true, options.full_matrices, a.where());
  return {x.narrow(made[0]), x.narrow(made[1]), made[2]};
}

namespace {

Array product_of(std::string_view name, const Array& q, const Operand& c, const QrMultiplyOptions& options) {
  const Dim wanted = options.left ? columns_of(q.type()) : rows_of(q.type());
  const auto size = [&] { return options.left && c->rank() > 1 ? rows_of(c->type()) : c->shape()[c->rank() - 1]; };
  if (c->rank() == 0 || !decided_equal(size(), wanted).value_or(true))
    throw ShapeError(fmt::format("{}: q is {}, and c {} cannot be multiplied with it from the {}.", name,
                                 q.type().text(), c->type().text(), options.left ? "right" : "left"),
                     fmt::format("Give a vector of {} elements, or {}.", wanted.text(),
                                 options.left ? "columns of as many" : "rows of as many"));
  const Array by = options.conjugate ? conj(q) : q;
  return options.left ? matmul(by, c) : matmul(c, by);
}

}  // namespace

QrProduct qr_multiply(const Operand& a, const Operand& c, const QrMultiplyOptions& options) {
  const SourceScope place(a.where(), "qr_multiply");
  const Taken x = matrix_of("qr_multiply", a);
  const Arrays made = qr_of(x.a, false, false, a.where());
  return {product_of("qr_multiply", x.narrow(made[0]), c, options), x.narrow(made[1])};
}
PivotedQrProduct pivoted_qr_multiply(const Operand& a, const Operand& c, const QrMultiplyOptions& options) {
  const SourceScope place(a.where(), "pivoted_qr_multiply");
  const Taken x = matrix_of("pivoted_qr_multiply", a);
  const Arrays made = qr_of(x.a, true, false, a.where());
  return {product_of("pivoted_qr_multiply", x.narrow(made[0]), c, options), x.narrow(made[1]), made[2]};
}

Reflections geqrf(const Operand& a) {
  const SourceScope place(a.where(), "geqrf");
  const Taken x = matrix_of("geqrf", a);
  const Arrays made = qr_reflections(x.a, false);
  return {x.narrow(made[0]), x.narrow(made[1])};
}

namespace {

// The first two: a: [..., m, n] with taus: [..., k].
void require_reflections(std::string_view name, const Operand& a, const Operand& taus, const matrices::Together& of) {
  const Type h = of.all[0].type(), factors = of.all[1].type();
  matrices::matrix(name, h);
  const Dim most = min(rows_of(h), columns_of(h));
  const auto fits = [&] {
    if (factors.rank() + 1 != h.rank()) return false;
    const Dim k = factors.shape[factors.rank() - 1];
    return !k.known() || !most.known() || k.value() <= most.value();
  };
  if (!fits())
    throw ShapeError(fmt::format("{}: reflections {} and their factors {} do not go together.", name, a->type().text(),
                                 taus->type().text()),
                     "There is a factor for each of the first columns.");
}

}  // namespace

Array householder_product(const Operand& a, const Operand& taus) {
  const SourceScope place(a.where(), "householder_product");
  const matrices::Together x = matrices::together({a, taus});
  require_reflections("householder_product", a, taus, x);
  const Dim m = rows_of(x.all[0].type()), n = columns_of(x.all[0].type());
  if (m.known() && n.known() && n.value() > m.value())
    throw ShapeError(fmt::format("householder_product: {} asks for {} columns: the product has {} columns.",
                                 a->type().text(), n.text(), m.text()),
                     "Leave out the columns behind those.");
  return x.narrow(reflections_product(x.all[0], x.all[1]));
}

Array ormqr(const Operand& a, const Operand& taus, const Operand& c, const OrmqrOptions& options) {
  const SourceScope place(a.where(), "ormqr");
  const matrices::Together x = matrices::together({a, taus, c});
  require_reflections("ormqr", a, taus, x);
  const Array &h = x.all[0], &factors = x.all[1], &y = x.all[2];
  matrices::matrix("ormqr", y.type());
  const Dim rows = rows_of(h.type()), along = options.left ? rows_of(y.type()) : columns_of(y.type());
  if (along.known() && rows.known() && along.value() != rows.value())
    throw ShapeError(fmt::format("ormqr: reflections {} and {} {} do not go together.", a->type().text(),
                                 options.left ? "rows of" : "columns of", c->type().text()),
                     "The product of reflections is a square matrix of as many rows as they have.");
  const Array v = matrices::reflection_vectors(h, factors.shape()[factors.rank() - 1]);
  // c·q is the adjoint of qᴴ·cᴴ.
  const Array made = options.left ? matrices::reflected(v, factors, y, options.transpose)
                                  : adjoint(matrices::reflected(v, factors, adjoint(y), !options.transpose));
  return x.narrow(made).with_weak(false);
}

Reflections gehrd(const Operand& a) {
  const SourceScope place(a.where(), "gehrd");
  const Taken x = square_of("gehrd", a);
  const Arrays made = hessenberg_reflections(x.a);
  return {x.narrow(made[0]), x.narrow(made[1])};
}

Hessenberg hessenberg(const Operand& a) {
  const SourceScope place(a.where(), "hessenberg");
  const Taken x = square_of("hessenberg", a);
  const Arrays made = hessenberg_reflections(x.a);
  const Array& h = made[0];
  const Dim n = rows_of(h.type());
  if (n.known() && n.value() < 2) return {x.narrow(h), x.narrow(unit_like(h))};
  const Array below = slice_in_dim(slice_in_dim(h, 1, n, -2), 0, n - 1, -1);  // the first row and column stay
  const Array q = reflections_product(below, made[1]);
  const Array column = zeros(matrices::batch_of(h.type(), {n - 1, 1}), h.dtype());
  const Array row = convert(
      iota(DType::i32, matrices::batch_of(h.type(), {1, n}), static_cast<std::int64_t>(h.rank()) - 1) == 0, h.dtype());
  return {x.narrow(where(matrices::row_index(h) - matrices::column_index(h) <= 1, h, zeros_like(h))),
          x.narrow(concatenate({row, concatenate({column, q}, -1)}, -2))};
}

Tridiagonal tridiagonal(const Operand& a, const TridiagonalOptions& options) {
  const SourceScope place(a.where(), "tridiagonal");
  const Taken x = square_of("tridiagonal", a);
  const auto turned = [&](const Array& of, bool both) {
    if (options.lower) return of;
    const auto last = static_cast<std::int64_t>(of.rank()) - 1;
    return both ? reverse(of, {last - 1, last}) : reverse(of, {last});
  };
  const Arrays made = tridiagonal_reflections(turned(x.a, true));
  return {x.narrow(turned(made[0], true)), x.narrow(turned(made[1], false)), x.narrow(turned(made[2], false)),
          x.narrow(turned(made[3], false))};
}

}  // namespace tenon::linalg
