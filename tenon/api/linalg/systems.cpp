// Systems of a form of their own: tridiagonal and banded ones, and factors that a vector changes.
#include <fmt/format.h>

#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/loops.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/linear_algebra/dot.h"
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

// Zeros before and behind the elements along an axis.
Array padded(const Array& x, std::int64_t axis, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> before(x.rank(), 0), behind(x.rank(), 0);
  before[static_cast<std::size_t>(axis)] = low, behind[static_cast<std::size_t>(axis)] = high;
  return pad(x, convert(0.f, x.dtype()), before, behind);
}

// Rows with the first column of m, below the first row, reflected to 0: m·1 - v·(vᴴ·m) / (vᴴ·m₀), v = m₀ - β·e₀. The
// sign of the real β leaves no cancellation; of a column of zeros NaN.
Array reflected(const Array& m) {
  const Dim rows = matrices::rows_of(m.type());
  const Array first = slice_in_dim(m, 0, 1, -1), largest = stop_gradient(amax(abs(first), Axes(-2).keepdims()));
  const Array y = first / convert(where(largest == 0.0, 1.0, largest), m.dtype());  // so that nothing overflows
  const Array length = sqrt(sum(squared_modulus(y), Axes(-2).keepdims())), top = slice_in_dim(y, 0, 1, -2);
  const Array turned = top + convert(where(real(top) < 0.0, -length, length), m.dtype());
  const Array v = concatenate({turned, slice_in_dim(y, 1, rows, -2)}, -2), vh = matrices::adjoint(v);
  return m - matmul(v, matmul(vh, m) / matmul(vh, y));
}

// x with a·x = sides, [..., n, k], of the diagonals of a, [..., below + above + 1, n]. Of each row of the loops the
// first `width` elements are those of a, from the first column on that is not eliminated, and the others right sides.
Array banded_solution(std::int64_t below, std::int64_t above, const Array& diagonals, const Array& sides) {
  const std::int64_t width = below + above + 1;
  const Shape batch = matrices::broadcast_batches("solve_banded", diagonals, sides);
  const auto depth = static_cast<std::int64_t>(batch.rank());
  const Array right = matrices::with_batch(sides, batch), band = matrices::with_batch(diagonals, batch);
  const Dim n = matrices::rows_of(right.type()), all = matrices::columns_of(right.type()) + width;
  if (n.try_value() == 0) return right;
  // Row i from column i - below on. What diagonals have outside of a is not read.
  const Array wide = padded(band, depth + 1, below, above);
  Arrays parts;
  for (std::int64_t d = 0; d < width; ++d)
    parts.push_back(slice_in_dim(slice_in_dim(wide, width - 1 - d, width - d, -2), d, n + d, -1));
  parts = {matrices::transposed(concatenate(parts, -2)), right};
  Array rows = move_axis(concatenate(parts, -1), depth, 0);
  if (below > 0) {
    rows = padded(rows, 0, 0, below);
    Arrays start;  // rows from column 0 on
    for (std::int64_t i = 0; i < below; ++i) {
      const Array row = move_axis(slice_in_dim(rows, i, i + 1, 0), 0, depth);
      const Array inside = slice_in_dim(row, below - i, width, -1), sides_of_row = slice_in_dim(row, width, all, -1);
      start.push_back(concatenate({padded(inside, depth + 1, 0, below - i), sides_of_row}, -1));
    }
    const auto eliminate = [&](const Array& before, const Array& row) {
      const Array made = reflected(concatenate({before, expand_dims(row, -2)}, -2));
      const Array rest = slice_in_dim(made, 1, below + 1, -2);
      const Array next = slice_in_dim(rest, 1, width, -1), none = zeros_like(slice_in_dim(rest, 0, 1, -1));
      return std::pair(concatenate({next, none, slice_in_dim(rest, width, all, -1)}, -1),
                       squeeze(slice_in_dim(made, 0, 1, -2), -2));
    };
    rows = scan(eliminate, concatenate(start, -2), slice_in_dim(rows, below, n + below, 0)).second;
  }
  // Behind x stand the width - 1 solutions that its row takes.
  const auto substitute = [&](const Array& behind, const Array& row) {
    const Array taken = matmul(expand_dims(slice_in_dim(row, 1, width, -1), -2), behind);
    const Array x = (slice_in_dim(row, width, all, -1) - squeeze(taken, -2)) / slice_in_dim(row, 0, 1, -1);
    const Array next = concatenate({expand_dims(x, -2), behind}, -2);
    return std::pair(slice_in_dim(next, 0, width - 1, -2), x);
  };
  const Array none = zeros(with_axes(batch, {Dim(width - 1), matrices::columns_of(right.type())}), right.dtype());
  return move_axis(scan(substitute, none, rows, {.reverse = true}).second, 0, depth);
}

Array of_band(std::string_view name, const Operand& ab, const Operand& b,
              FunctionRef<Array(const Array& diagonals, const Array& sides)> solution) {
  const matrices::Together given = matrices::together({ab, b});
  const Array &diagonals = given.all[0], &sides = given.all[1];
  const bool vector = sides.rank() == 1;
  if (diagonals.rank() < 2 || sides.rank() == 0 ||
      !decided_equal(matrices::columns_of(diagonals.type()), sides.shape()[vector ? 0 : sides.rank() - 2])
           .value_or(true))
    throw ShapeError(fmt::format("{}: diagonals {} and right sides {} do not go together.", name, ab->type().text(),
                                 b->type().text()),
                     "Diagonals are [..., diagonals, n], the right sides [n], or columns [..., n, k].");
  const Array made = solution(diagonals, vector ? expand_dims(sides, -1) : sides);
  return given.narrow(vector ? squeeze(made, -1) : made);
}

}  // namespace

// By reflections of the rows that have an element in a column, which leave below + above diagonals above the main one
// and want no exchange of rows.
Array solve_banded(std::int64_t below, std::int64_t above, const Operand& ab, const Operand& b) {
  const SourceScope place(ab.where(), "solve_banded");
  return of_band("solve_banded", ab, b, [&](const Array& diagonals, const Array& sides) {
    const Dim count = matrices::rows_of(diagonals.type());
    if (below < 0 || above < 0 || !decided_equal(count, Dim(below + above + 1)).value_or(true))
      throw ShapeError(fmt::format("solve_banded: {} has no {} diagonals below the main one and {} above it.",
                                   ab->type().text(), below, above),
                       "Give below + above + 1 diagonals, beside each other along the axis before the last.");
    return banded_solution(below, above, diagonals, sides);
  });
}

Array solveh_banded(const Operand& ab, const Operand& b, const BandedOptions& options) {
  const SourceScope place(ab.where(), "solveh_banded");
  return of_band("solveh_banded", ab, b, [&](const Array& given, const Array& sides) {
    const std::int64_t count = matrices::rows_of(given.type()).value(), beside = count - 1;
    const Dim n = matrices::columns_of(given.type());
    if (count == 0)
      throw ShapeError(fmt::format("solveh_banded: {} has no diagonal.", ab->type().text()),
                       "Give the main one and those on one side of it.");
    const auto at = [&](std::int64_t i) { return slice_in_dim(given, i, i + 1, -2); };
    // The k-th diagonal on the other side: its column j is row j of the one that is given.
    const auto last = static_cast<std::int64_t>(given.rank()) - 1;
    const auto other = [&](std::int64_t k) {
      const Array conjugate = conj(at(options.lower ? k : beside - k));
      return options.lower ? slice_in_dim(padded(conjugate, last, k, 0), 0, n, -1)
                           : slice_in_dim(padded(conjugate, last, 0, k), k, n + k, -1);
    };
    Arrays all;
    for (std::int64_t k = beside; k > 0; --k) all.push_back(options.lower ? other(k) : at(beside - k));
    all.push_back(convert(real(at(options.lower ? 0 : beside)), given.dtype()));
    for (std::int64_t k = 1; k <= beside; ++k) all.push_back(options.lower ? at(k) : other(k));
    return banded_solution(beside, beside, concatenate(all, -2), sides);
  });
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
