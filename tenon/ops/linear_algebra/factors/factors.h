// Factors of matrices in the last two axes, of f32, f64, c64 or c128: the ops, and what their evaluation and their code
// share.
#pragma once

#include "tenon/ir/op.h"
#include "tenon/ops/linear_algebra/factors/textbook.h"
#include "tenon/runtime/linear_algebra/lapack.h"

namespace tenon {

// Of the Hermitian matrix that the lower triangle of a stands for: {w}, or {w, v}.
Arrays hermitian_spectrum(const Array& a, bool vectors);
// {s}, or {s, u, vh} of min(m, n) columns and rows, or all.
Arrays singular_spectrum(const Array& a, bool vectors, bool full);
// {w, left vectors, right vectors}, those that are asked for.
Arrays general_spectrum(const Array& a, bool left, bool right);
// {t}, or {t, z} with a = z·t·zᴴ.
Arrays schur_form(const Array& a, bool vectors);
// {L below the diagonal and U, the row that each row changed places with, the order of rows that this makes}.
Arrays lu_factors(const Array& a);
// {R and below it the vectors of reflections, their factors}, and with `pivoting` the order of columns.
Arrays qr_reflections(const Array& a, bool pivoting);
// The first columns of the product of reflections 1 - τ·v·vᴴ, v below the diagonal of h: [..., m, n], n <= m; taus:
// [..., k], k <= n.
Array reflections_product(const Array& h, const Array& taus);
// dq and dr of a = q·r, q: [..., m, k], along da: finite where the first k columns of a are independent.
struct FactorsOfQr {
  Array q, r;
};
FactorsOfQr slope_of_qr(const Array& q, const Array& r, const Array& da);
// The columns of a in this order: [..., n].
Array in_order(const Array& a, const Array& order);
// {Hessenberg's form and below it the vectors of reflections, their factors}.
Arrays hessenberg_reflections(const Array& a);
// Of the Hermitian matrix that the lower triangle of a stands for: {the same, the diagonal, the one below it, factors}.
Arrays tridiagonal_reflections(const Array& a);
// {the shortest x with the least |a·x - b|, singular values of a}: b has the batch of a, `bound` is [..., 1, 1], real,
// of that batch. Values up to the bound (below 1) times the largest count as 0.
Arrays least_squares(const Array& a, const Array& b, const Array& bound);

namespace matrices {

struct LapackChoice {
  std::int64_t vectors = 0;
  bool full = false;
  Dim others = 0;
};
LibraryForm lapack_form(TenonLapack::Kind kind, const Type& a, const LapackChoice& choice = {});

// one(matrices i of the operands) gives the parts of results for each: columns or elements, row-major. Results have
// types `out`.
using Parts = std::vector<std::vector<textbook::Number>>;
std::vector<Value> evaluate_each(std::span<const Value> in, std::span<const Type> out,
                                 FunctionRef<Parts(std::span<const textbook::Matrix>)> one);
std::vector<textbook::Number> numbers(const std::vector<double>& values);

}  // namespace matrices
}  // namespace tenon
