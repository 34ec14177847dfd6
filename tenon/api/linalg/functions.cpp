// Functions of matrices.
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/loops.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {

Array sqrtm(const Operand& a) {
  const SourceScope place(a.where(), "sqrtm");
  const Schur form = schur(a, {.complex = true});
  const Array& t = form.t;
  if (without_elements(t)) return t;
  const auto rank = static_cast<std::int64_t>(t.rank());
  const Dim n = matrices::rows_of(t.type());
  const Array row = iota(DType::i32, t.shape(), rank - 2), column = iota(DType::i32, t.shape(), rank - 1);
  Array values = matrices::diagonal(t);
  if (!is_complex(to_inexact(a.array()).dtype())) {  // what is real of a real matrix: i√x of -x, not -i√x
    const Array size = amax(abs(values), Axes(-1).keepdims()) * (100 * special::epsilon_of(t.dtype()));
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
        Array system = where(before, known, none) + where(row == column, where(row < j, root, ones_like(t)), none);
        // Of two eigenvalues 0 the element is 0, if there is one: 0 over any number.
        system = where((row == column) & (system == none), ones_like(t) * special::least_normal_of(t.dtype()), system);
        const Array right = sum(where((row < j) & (column == j), t, none), Axes(-1).keepdims());
        const Array x = triangular_solve(system, right, {.left_side = true});
        return known + where(column == j, where(row == j, root, broadcast_to(x, t.shape())), none);
      },
      none);
  return matmul(matmul(form.z, r), matrices::adjoint(form.z));
}

namespace {

// Numerators of Padé's approximants of exp, whose denominators have every other sign changed, and up to which norm they
// are exact to rounding (Higham 2005).
struct Pade {
  std::vector<double> terms;
  double bound;
};
const Pade pade_of_13{{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
                       10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1},
                      5.371920351148152};
const Pade pade_of_7{{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}, 3.925724783138660};

struct OddAndEven {
  Array odd, even;
};
OddAndEven polynomial(const Array& a, const std::vector<double>& terms) {
  const Array square = matmul(a, a), unit = matrices::unit_like(a);
  const auto of = [&](std::size_t first) {
    Array made = terms[first] * unit;
    for (std::size_t i = first; i >= 2; i -= 2) made = matmul(square, made) + terms[i - 2] * unit;
    return made;
  };
  const std::size_t last = terms.size() - 1;  // odd
  return {matmul(a, of(last)), of(last - 1)};
}

}  // namespace

Array expm(const Operand& a, const ExpmOptions& options) {
  const SourceScope place(a.where(), "expm");
  const Taken x = square_of("expm", a);
  if (x.a.shape().elements().try_value() == 0) return x.narrow(x.a);
  const DType part = real_part_of(x.a.dtype());
  const Pade& pade = part == DType::f64 ? pade_of_13 : pade_of_7;
  const Array size = amax(sum(abs(x.a), -2), -1);
  const Array needed = ceil(log(stop_gradient(max(size, pade.bound)) / pade.bound) * 1.4426950408889634);
  const Array squarings = convert(clamp(needed, 0.f, static_cast<double>(options.max_squarings)), DType::i32);
  const auto beside = [](const Array& each) { return expand_dims(expand_dims(each, -1), -1); };
  const OddAndEven of = polynomial(x.a / convert(beside(pow(2.f, convert(squarings, part))), x.a.dtype()), pade.terms);
  const Array start = solve(of.even - of.odd, of.even + of.odd);
  const Array made = fori_loop(
      0, amax(squarings),
      [&](const Array& i, const Array& power) { return where(i < beside(squarings), matmul(power, power), power); },
      start);
  const Array unknown = convert(std::numeric_limits<double>::quiet_NaN(), x.a.dtype());
  return x.narrow(where(beside(needed <= static_cast<double>(options.max_squarings)), made, unknown));
}

namespace {

// x with r·x + x·s = c of upper triangular r and s: column by column, each a triangular system.
Array triangular_sylvester(const Array& r, const Array& s, const Array& c) {
  const Array unit = matrices::unit_like(r), columns = matrices::column_index(c), rows_of_s = matrices::row_index(s);
  return fori_loop(
      0, size_as_array(matrices::columns_of(c.type())),
      [&](const Array& step, const Array& x) {
        const Array k = convert(step, DType::i32), here = columns == k;
        const Array of_s =
            sum(where(matrices::column_index(s) == k, s, zeros_like(s)), Axes(-1).keepdims());  // its column k
        const Array rest = sum(where(here, c, zeros_like(c)), Axes(-1).keepdims()) - matmul(x, of_s);
        const Array at = slice_in_dim(rows_of_s, 0, 1, -1) == k;
        const Array shift = sum(where(at, of_s, zeros_like(of_s)), Axes(-2).keepdims());
        const Array made = triangular_solve(r + shift * unit, rest, {.left_side = true});
        return where(here, broadcast_to(made, x.shape()), x);
      },
      zeros_like(c));
}

// x·a⁻¹
Array right_solve(const Array& a, const Array& x) {
  return matrices::transposed(solve(matrices::transposed(a), matrices::transposed(x)));
}

}  // namespace

Array solve_sylvester(const Operand& a, const Operand& b, const Operand& c, const SylvesterOptions& options) {
  const SourceScope place(a.where(), "solve_sylvester");
  const matrices::Together given = matrices::together({a, b, c});
  Arrays all = given.all;
  matrices::square("solve_sylvester", all[0].type()), matrices::square("solve_sylvester", all[1].type());
  matrices::matrix("solve_sylvester", all[2].type());
  const Dim m = matrices::rows_of(all[2].type()), n = matrices::columns_of(all[2].type());
  if (!decided_equal(matrices::rows_of(all[0].type()), m).value_or(true) ||
      !decided_equal(matrices::rows_of(all[1].type()), n).value_or(true))
    throw ShapeError(fmt::format("solve_sylvester: Incompatible shapes of a, b and c: {}, {} and {}.", a->type().text(),
                                 b->type().text(), c->type().text()),
                     "c has the rows of a and the columns of b.");
  const Shape both = matrices::broadcast_batches("solve_sylvester", all[0], all[1]);
  const Shape batch = matrices::broadcast_batches("solve_sylvester", zeros(with_axes(both, {1, 1})), all[2]);
  for (Array& x : all) x = matrices::with_batch(x, batch);
  if (without_elements(all[2])) return given.narrow(all[2]);
  const DType number = is_complex(all[2].dtype()) ? all[2].dtype() : complex_of(all[2].dtype());
  Array made = all[2], v = made, w = made;
  if (options.by_eigenvectors) {
    const Eig left = eig(all[0]), right = eig(all[1]);
    v = left.eigenvalues, w = right.eigenvalues;
    const Array inner = matmul(solve(left.eigenvectors, convert(all[2], number)), right.eigenvectors);
    made =
        right_solve(right.eigenvectors, matmul(left.eigenvectors, inner / (expand_dims(v, -1) + expand_dims(w, -2))));
  } else {
    const Schur left = schur(all[0], {.complex = true}), right = schur(all[1], {.complex = true});
    v = matrices::diagonal(left.t), w = matrices::diagonal(right.t);
    const Array inner = matmul(matrices::adjoint(left.z), matmul(convert(all[2], number), right.z));
    made = matmul(matmul(left.z, triangular_sylvester(left.t, right.t, inner)), matrices::adjoint(right.z));
  }
  const Array nearest = amin(abs(expand_dims(v, -1) + expand_dims(w, -2)), Axes{-2, -1}.keepdims());
  if (!is_complex(given.stored)) made = real(made);
  const Array unknown = convert(std::numeric_limits<double>::quiet_NaN(), made.dtype());
  return given.narrow(where(nearest < options.tolerance, unknown, made));
}

}  // namespace tenon::linalg
