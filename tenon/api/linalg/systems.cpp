// Systems of a form of their own: tridiagonal ones, and factors that a vector changes.
#include <fmt/format.h>

#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/loops.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {

namespace {

// The diagonal of a triangle, rows along the first axis, with elements that are less than rounding of its largest one
// replaced by that.
Array perturbed(const Array& diagonal, const Array& above, const Array& second) {
  const Axes rows = Axes(0).keepdims();
  const Array largest = max(amax(abs(diagonal), rows), max(amax(abs(above), rows), amax(abs(second), rows)));
  const Array least =
      stop_gradient(where(largest == 0.0, 1.0, largest) * special::epsilon_of(real_part_of(diagonal.dtype())));
  const Array turned = convert(where(real(diagonal) < 0.0, -least, least), diagonal.dtype());
  return where(abs(diagonal) < least, turned, diagonal);
}

}  // namespace

// By rotations of neighbouring rows, which leave two diagonals above the main one and want no exchange of rows.
Array tridiagonal_solve(const Operand& below, const Operand& diagonal, const Operand& above, const Operand& b,
                        const TridiagonalSolveOptions& options) {
  const SourceScope place(diagonal.where(), "tridiagonal_solve");
  const matrices::Together given = matrices::together({below, diagonal, above, b});
  const auto fits = [&] {
    const Array& d = given.all[1];
    const std::size_t rank = d.rank();
    if (rank == 0 || given.all[3].rank() < 2) return false;
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}})
      if (given.all[i].rank() != rank ||
          !decided_equal(given.all[i].shape()[rank - 1], d.shape()[rank - 1]).value_or(true))
        return false;
    return decided_equal(matrices::rows_of(given.all[3].type()), d.shape()[rank - 1]).value_or(true);
  };
  if (!fits())
    throw ShapeError(fmt::format("tridiagonal_solve: diagonals {}, {} and {} and right sides {} do not go together.",
                                 below->type().text(), diagonal->type().text(), above->type().text(), b->type().text()),
                     "Each diagonal is [..., n], the right sides [..., n, k].");
  const auto columns = [&](std::size_t i) { return expand_dims(given.all[i], -1); };
  const Shape batch = matrices::broadcast_batches("tridiagonal_solve", columns(1), given.all[3]);
  // A row of the loops is a row of all systems.
  const auto rows = [&](const Array& x) {
    return move_axis(matrices::with_batch(x, batch), static_cast<std::int64_t>(batch.rank()), 0);
  };
  const Array l = rows(columns(0)), d = rows(columns(1)), right = rows(given.all[3]);
  const Dim n = d.shape()[0];
  if (n.try_value() == 0) return given.narrow(matrices::with_batch(given.all[3], batch));
  const Array zero = zeros_like(slice_in_dim(d, 0, 1, 0));
  const Array u = concatenate({slice_in_dim(rows(columns(2)), 0, n - 1, 0), zero}, 0);
  const auto first = [](const Array& x) { return squeeze(slice_in_dim(x, 0, 1, 0), 0); };
  const auto rest = [&](const Array& x) { return slice_in_dim(x, 1, n, 0); };
  using Row = std::tuple<Array, Array, Array>;          // the diagonal, the one above, the right sides
  using Kept = std::tuple<Array, Array, Array, Array>;  // and between them the second one above
  const auto rotated = [&](const Row& row, const Kept& next) {
    const auto& [d0, u0, v0] = row;
    const auto& [l1, d1, u1, v1] = next;
    const Array length = convert(sqrt(squared_modulus(d0) + squared_modulus(l1)), d0.dtype());
    // Of two zeros, which perturbed pivots come from, no rotation is told.
    const auto by_length = [&](const Array& x, double otherwise) {
      if (!options.perturb_singular) return x / length;
      const Array none = length == 0.0;
      return where(none, otherwise, x / where(none, 1.0, length));
    };
    const Array c = by_length(d0, 1), s = by_length(l1, 0);
    const Array cc = conj(c), sc = conj(s);
    return std::pair(Row(c * d1 - s * u0, c * u1, c * v1 - s * v0),
                     Kept(length, cc * u0 + sc * d1, sc * u1, cc * v0 + sc * v1));
  };
  const auto [last, kept] =
      scan(rotated, Row(first(d), first(u), first(right)), Kept(rest(l), rest(d), rest(u), rest(right)));
  const auto& [d_last, u_last, v_last] = last;
  const auto with_last = [](const Array& x, const Array& end) { return concatenate({x, expand_dims(end, 0)}, 0); };
  const Array none = zeros_like(d_last);
  Kept all(with_last(std::get<0>(kept), d_last), with_last(std::get<1>(kept), none), with_last(std::get<2>(kept), none),
           with_last(std::get<3>(kept), v_last));
  if (options.perturb_singular) std::get<0>(all) = perturbed(std::get<0>(all), std::get<1>(all), std::get<2>(all));
  using Behind = std::tuple<Array, Array>;
  const auto substituted = [](const Behind& behind, const Kept& row) {
    const auto& [x1, x2] = behind;
    const auto& [d0, u0, w0, v0] = row;
    const Array x = (v0 - u0 * x1 - w0 * x2) / d0;
    return std::pair(Behind(x, x1), x);
  };
  const auto [end, xs] = scan(substituted, Behind(zeros_like(v_last), zeros_like(v_last)), all, {.reverse = true});
  static_cast<void>(end);
  return given.narrow(move_axis(xs, 0, static_cast<std::int64_t>(batch.rank())));
}

namespace {

// √(a² + b²), so that nothing overflows.
Array length_of(const Array& a, const Array& b) {
  const Array size = max(abs(a), abs(b)), scale = stop_gradient(where(size == 0, ones_like(size), size));
  const Array x = a / scale, y = b / scale, square = x * x + y * y;
  return scale * where(size == 0, zeros_like(size), sqrt(where(size == 0, ones_like(size), square)));
}

}  // namespace

// By rotations of the row of R with what is left of w, a column each.
Array cholesky_update(const Operand& r, const Operand& w) {
  const SourceScope place(r.where(), "cholesky_update");
  const matrices::Together given = matrices::together({r, w});
  const Array &upper = given.all[0], &vector = given.all[1];
  matrices::square("cholesky_update", upper.type());
  const Dim n = matrices::rows_of(upper.type());
  if (upper.rank() != 2 || vector.rank() != 1 || !decided_equal(vector.shape()[0], n).value_or(true))
    throw ShapeError(fmt::format("cholesky_update: {} and {} do not go together.", r->type().text(), w->type().text()),
                     "Give a square matrix and a vector of as many elements; vmap does batches.");
  if (is_complex(upper.dtype()))
    throw DTypeError(fmt::format("cholesky_update: {}: of real numbers.", upper.type().text()),
                     "Update the factors of a·aᴴ by cholesky().");
  if (n.try_value() == 0) return given.narrow(upper);
  using Step = std::tuple<Array, Array>;  // the number of the column, the row of R
  const auto rotate = [](const Array& left, const Step& step) {
    const auto& [k, row] = step;
    const Array here = iota(DType::i32, row.shape(), 0) == k, none = zeros_like(row);
    const Array a = sum(where(here, row, none)), b = sum(where(here, left, none)), length = length_of(a, b),
                flat = length == 0;
    const Array safe = where(flat, ones_like(length), length), c = where(flat, ones_like(a), a / safe), s = b / safe;
    return std::pair(c * left - s * row, c * row + s * left);
  };
  const auto [left, rows] = scan(rotate, vector, Step(arange(n, DType::i32), upper));
  static_cast<void>(left);
  return given.narrow(matrices::triangle(rows, false));
}

}  // namespace tenon::linalg
