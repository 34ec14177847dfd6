// Functions of matrices.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

#include "tenon/api/custom.h"
#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/loops.h"
#include "tenon/api/special.h"
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

// The greatest sum of a column.
Array one_norm(const Array& a) { return amax(sum(abs(a), -2), -1); }
// A number for each matrix, beside its elements.
Array as_matrix(const Array& each) { return expand_dims(expand_dims(each, -1), -1); }

// The complex Schur form of a, whose eigenvalues are real, and not a rounding beside, where a real matrix has real
// ones: the root of -x is i√x then, and not -i√x. A triangular matrix is its own form: LAPACK would scale it, and lose
// what is far smaller than its largest element.
Schur principal_form(const Array& a) {
  const Schur form = schur(a, {.complex = true});
  const Array& t = form.t;
  if (without_elements(t)) return form;
  Array of_reals = t;
  if (!is_complex(to_inexact(a).dtype())) {
    const Array values = matrices::diagonal(t);
    const Array size = amax(abs(values), Axes(-1).keepdims()) * (100 * special::epsilon_of(t.dtype()));
    const Array cleaned = complex(real(values), where(abs(imag(values)) <= size, zeros_like(size), imag(values)));
    of_reals = where(matrices::on_diagonal(t), expand_dims(cleaned, -1), t);
  }
  const Array given = convert(a, t.dtype()), below = matrices::row_index(t) > matrices::column_index(t);
  const Array other = as_matrix(sum(convert(below & (given != 0.0), DType::i32), Axes{-2, -1}) > 0);
  return {where(other, of_reals, given), where(other, form.z, matrices::unit_like(form.z))};
}
Array turned_back(const Schur& form, const Array& inner) {
  return matmul(matmul(form.z, inner), matrices::adjoint(form.z));
}

// What a function of a triangular matrix t is made of up to column j: the rows and columns before j that are known,
// zero elsewhere; its own element j on the diagonal, and that of t; and column j of t above the diagonal.
struct BeforeColumn {
  const Array &known, &value, &diagonal, &column;
};
// Column j of the function above the diagonal solves system·x = right of the rows before j.
struct ForColumn {
  Array system, right;
};

// The upper triangular matrix with these values on its diagonal, whose other elements follow column by column. Where an
// element of the system's diagonal is 0, `instead` stands in its place.
Array by_columns(const Array& t, const Array& values, double instead,
                 FunctionRef<ForColumn(const BeforeColumn&)> equation) {
  const Array row = matrices::row_index(t), column = matrices::column_index(t), none = zeros_like(t);
  const auto element = [&](const Array& of, const Array& j) {
    const Array at = iota(DType::i32, of.shape(), static_cast<std::int64_t>(of.rank()) - 1) == j;
    return as_matrix(sum(where(at, of, zeros_like(of)), -1));
  };
  const Array of_t = matrices::diagonal(t);
  return fori_loop(
      0, size_as_array(matrices::rows_of(t.type())),
      [&](const Array& step, const Array& known) {
        const Array j = convert(step, DType::i32);
        const Array value = element(values, j), diagonal = element(of_t, j);
        const Array above = sum(where((row < j) & (column == j), t, none), Axes(-1).keepdims());
        const ForColumn made = equation({known, value, diagonal, above});
        const Array on = row == column, before = (row < j) & (column < j);
        Array system = where(before, made.system, where(on, ones_like(t), none));
        const Array singular = on & (system == none);
        system = where(singular, ones_like(t) * instead, system);
        const Array right = where(slice_in_dim(row, 0, 1, -1) < j, made.right, zeros_like(made.right));
        Array x = triangular_solve(system, right, {.left_side = true});
        return known + where(column == j, where(row == j, value, broadcast_to(x, t.shape())), none);
      },
      none);
}

// The upper triangular r with r·r = t (Björck and Hammarling 1983). Of two eigenvalues 0 the element is 0 where that
// solves the equation, and else there is no root.
Array triangular_root(const Array& t) {
  const Array r = by_columns(t, sqrt(matrices::diagonal(t)), 1, [&](const BeforeColumn& of) {
    return ForColumn{of.known + of.value * matrices::unit_like(t), of.column};
  });
  const Array zero = matrices::diagonal(t) == 0.0;
  const Array none_fits = expand_dims(zero, -1) & expand_dims(zero, -2) & !matrices::on_diagonal(t) & (r != 0.0);
  return where(none_fits, convert(special::infinity, t.dtype()), r);
}

}  // namespace

Array sqrtm(const Operand& a) {
  const SourceScope place(a.where(), "sqrtm");
  const Schur form = principal_form(a.array());
  if (without_elements(form.t)) return form.t;
  return turned_back(form, triangular_root(form.t));
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
  const Array size = one_norm(x.a);
  const Array needed = ceil(log(stop_gradient(max(size, pade.bound)) / pade.bound) * 1.4426950408889634);
  const Array squarings = convert(clamp(needed, 0.f, static_cast<double>(options.max_squarings)), DType::i32);
  const OddAndEven of =
      polynomial(x.a / convert(as_matrix(pow(2.f, convert(squarings, part))), x.a.dtype()), pade.terms);
  const Array start = solve(of.even - of.odd, of.even + of.odd);
  const Array made = fori_loop(
      0, amax(squarings),
      [&](const Array& i, const Array& power) { return where(i < as_matrix(squarings), matmul(power, power), power); },
      start);
  const Array unknown = convert(std::numeric_limits<double>::quiet_NaN(), x.a.dtype());
  return x.narrow(where(as_matrix(needed <= static_cast<double>(options.max_squarings)), made, unknown));
}

ExpmFrechet expm_frechet(const Operand& a, const Operand& e, const ExpmOptions& options) {
  const SourceScope place(a.where(), "expm_frechet");
  const Met met = in_one_inexact_dtype(Arrays{a, e});
  const Array &at = met.operands[0], &along = met.operands[1];
  for (const Array& x : met.operands) static_cast<void>(square_of("expm_frechet", x));
  const bool known = at.shape().known() && along.shape().known();
  if (at.rank() != along.rank() || (known && at.shape() != along.shape()))
    throw ShapeError(
        fmt::format("expm_frechet: a and e differ in shape: {} and {}.", a->type().text(), e->type().text()),
        "Give a direction for each element of a.");
  const auto [value, derivative] = jvp([&](const Array& x) { return expm(x, options); }, std::tuple(at),
                                       std::tuple(broadcast_to(along, at.shape())));
  const bool weak = a->weak() && e->weak();
  return {value.with_weak(weak), derivative.with_weak(weak)};
}

// Column j of f above the diagonal: f·t = t·f of the rows before j (Parlett 1976). Where two eigenvalues are equal,
// what stands over their difference is kept.
FunctionOfMatrix funm(const Operand& a, const std::function<Array(const Array& eigenvalues)>& f) {
  const SourceScope place(a.where(), "funm");
  const Schur form = principal_form(a.array());
  const Array &t = form.t, w = matrices::diagonal(t);
  const DType part = real_part_of(t.dtype());
  if (without_elements(t)) return {t, zeros(matrices::batch_of(t.type()), part)};
  const Array values = convert(f(w), t.dtype());
  if (values.type() != w.type())
    throw ShapeError(fmt::format("funm: the function gives {} of {}.", values.type().text(), w.type().text()),
                     "Give a function of each element.");
  const Array made = by_columns(t, values, -1, [&](const BeforeColumn& of) {
    return ForColumn{t - of.diagonal * matrices::unit_like(t), matmul(of.known, of.column) - of.column * of.value};
  });
  // An error of rounding, as large as the differences of eigenvalues let it become (Golub and Van Loan).
  const Array apart = abs(expand_dims(w, -1) - expand_dims(w, -2));
  const Array least = amin(where(matrices::on_diagonal(t), special::infinity, apart), Axes{-2, -1});
  const double unit = special::epsilon_of(part);
  const Array above = one_norm(matrices::triangle(t, false, 1));
  return {turned_back(form, made), clamp(where(above == 0.0, 0.0, unit / least * above), unit, 1.0)};
}

namespace {

// Nodes and weights of Gauss and Legendre's rule on [0, 1]: log(1 + y) is near the sum of weight·y / (1 + node·y), to
// rounding where |y| is up to `bound` (Al-Mohy and Higham 2012).
struct Node {
  double at, weight;
};
constexpr std::array<Node, 7> nodes_of_log{{{0.025446043828620737, 0.06474248308443485},
                                            {0.12923440720030277, 0.13985269574463834},
                                            {0.2970774243113014, 0.19091502525255946},
                                            {0.5, 0.20897959183673470},
                                            {0.7029225756886986, 0.19091502525255946},
                                            {0.8707655927996972, 0.13985269574463834},
                                            {0.9745539561713793, 0.06474248308443485}}};
constexpr double bound_of_log = 0.264;

// The Schur form of a, or where a is near 1 that of a - 1, whose logarithm has all of its digits.
struct LogForm {
  Schur form;
  Array near;
};
LogForm log_form(const Array& a) {
  const Array off = a - matrices::unit_like(a), near = sum(squared_modulus(off), Axes{-2, -1}) <= 0.01;
  return {principal_form(where(as_matrix(near), off, a)), near};
}

// What log has next to the diagonal: t there by the divided difference of log at the two numbers beside it. Where they
// are close that is of atanh, and of how often log of the one less log of the other turns (Higham 2008, section 11.6).
Array beside_diagonal_of_log(const Array& t, const Array& values, const Array& logs) {
  const Array a = expand_dims(values, -1), b = expand_dims(values, -2), apart = b - a;
  const Array turn = expand_dims(logs, -2) - expand_dims(logs, -1);
  const Array turns = ceil((imag(turn) - special::pi) / (2 * special::pi)) * special::pi;
  const Array close = 2.0 * (atanh(apart / (b + a)) + complex(zeros_like(turns), turns));
  const Array of_log = where(abs(apart) > abs(a + b) / 2.0, turn, close);
  return where(apart == 0.0, t / a, t * (of_log / apart));
}

// log of upper triangular matrices, given as they are or, where they are `near` 1, less that: of square roots, as many
// as bring a matrix near 1. The diagonal is that of logarithms of numbers, and what is next to it of their differences.
Array triangular_log(const Array& given, const Array& near) {
  const Array unit = matrices::unit_like(given), none = zeros_like(given);
  const Array t = where(as_matrix(near), given + unit, given), values = matrices::diagonal(t);
  const Array singular = sum(convert(values == 0.0, DType::i32), -1) > 0;
  const auto far = [&](const Array& root) { return (one_norm(root - unit) > bound_of_log) & !singular; };
  const Array counts = zeros_like(convert(near, DType::i32));
  using Roots = std::tuple<Array, Array>;
  constexpr int most = 1100;  // no number needs more
  const auto [root, count] = while_loop(
      [&](const Roots& of) { return any(far(std::get<0>(of)) & (std::get<1>(of) < most)); },
      [&](const Roots& of) {
        const auto& [known, taken] = of;
        const Array more = far(known);
        return Roots(where(as_matrix(more), triangular_root(known), known), taken + convert(more, DType::i32));
      },
      Roots(t, counts));
  const Array as_given = as_matrix(near & (count == 0));
  const Array y = where(as_given, given, root - unit);
  Array made = none;
  for (const auto& [at, weight] : nodes_of_log)
    made = made + weight * triangular_solve(unit + at * y, y, {.left_side = true});
  made = made * convert(as_matrix(pow(2.f, convert(count, real_part_of(given.dtype())))), given.dtype());
  const Array logs = log(values), beside = matrices::column_index(t) == matrices::row_index(t) + 1;
  made = where(beside & !as_given, beside_diagonal_of_log(t, values, logs), made);
  made = where(matrices::on_diagonal(t) & !as_given, expand_dims(logs, -1), made);
  return where(as_matrix(singular), convert(special::nan, t.dtype()), made);
}

// The derivative of log at a along e: a block of log of {{a, e}, {0, a}}, with an e that is small beside a.
Array slope_of_log(const Array& a, const Array& e) {
  const auto [form, near] = log_form(a);
  const Array inner = matmul(matmul(matrices::adjoint(form.z), e), form.z), length = one_norm(inner);
  const Array wanted = where(near, 1.0, one_norm(form.t)) / 16.0;
  const Array scale = convert(as_matrix(wanted / where(length == 0.0, 1.0, length)), inner.dtype());
  const Array above = concatenate({form.t, inner * scale}, -1), below = concatenate({zeros_like(form.t), form.t}, -1);
  const Dim n = matrices::rows_of(a.type());
  const Array whole = triangular_log(concatenate({above, below}, -2), near);
  return turned_back(form, slice_in_dim(slice_in_dim(whole, 0, n, -2), n, n + n, -1) / scale);
}

// Its derivative solves a linear system with the derivative of exp: so it has derivatives of any order.
Array log_by_rule(const Array& a) {
  const auto value = [](const Array& of) {
    const auto [form, near] = log_form(of);
    return turned_back(form, triangular_log(form.t, near));
  };
  const auto rule = [](const Array& of, const Array& da) {
    const Array made = log_by_rule(of);
    const auto along = [&](const Array& d) {
      return jvp([](const Array& x) { return expm(x); }, std::tuple(made), std::tuple(d)).second;
    };
    const auto solved = [&](const Array& right) { return slope_of_log(of, right); };
    const auto transposed = [&](const Array& right) {
      return matrices::transposed(slope_of_log(of, matrices::transposed(right)));
    };
    return std::pair(made, system_solution(along, convert(da, made.dtype()), solved, transposed));
  };
  return custom_jvp(value, rule)(a);
}

}  // namespace

Array logm(const Operand& a) {
  const SourceScope place(a.where(), "logm");
  const Taken x = square_of("logm", a);
  if (without_elements(x.a)) return is_complex(x.a.dtype()) ? x.a : convert(x.a, complex_of(x.a.dtype()));
  return x.narrow(log_by_rule(x.a));
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

// x, complex, of a system whose matrices have the eigenvalues v and w: real where c is, and NaN where some v and -w are
// nearer than `tolerance`.
Array where_apart(const Array& x, const Array& v, const Array& w, const Array& c, double tolerance) {
  const Array nearest = amin(abs(expand_dims(v, -1) + expand_dims(w, -2)), Axes{-2, -1}.keepdims());
  const Array made = is_complex(c.dtype()) ? x : real(x);
  return where(nearest < tolerance, convert(special::nan, made.dtype()), made);
}

Array sylvester_by_eigenvectors(const Array& a, const Array& b, const Array& c, double tolerance) {
  const Eig left = eig(a), right = eig(b);
  const Array &v = left.eigenvalues, &w = right.eigenvalues;
  const Array inner = matmul(solve(left.eigenvectors, convert(c, v.dtype())), right.eigenvectors);
  const Array apart = inner / (expand_dims(v, -1) + expand_dims(w, -2));
  return where_apart(right_solve(right.eigenvectors, matmul(left.eigenvectors, apart)), v, w, c, tolerance);
}

Array sylvester_by_forms(const Array& a, const Array& b, const Array& c, double tolerance) {
  const Schur left = schur(a, {.complex = true}), right = schur(b, {.complex = true});
  const Array inner = matmul(matrices::adjoint(left.z), matmul(convert(c, left.t.dtype()), right.z));
  const Array made = matmul(matmul(left.z, triangular_sylvester(left.t, right.t, inner)), matrices::adjoint(right.z));
  return where_apart(made, matrices::diagonal(left.t), matrices::diagonal(right.t), c, tolerance);
}

// Schur forms have no derivatives. That of x solves the same system, of what a, b and c change in it.
Array sylvester_by_rule(const Array& a, const Array& b, const Array& c, double tolerance) {
  const auto value = [tolerance](const Array& a, const Array& b, const Array& c) {
    return sylvester_by_forms(a, b, c, tolerance);
  };
  const auto rule = [tolerance](const Array& a, const Array& b, const Array& c, const Array& da, const Array& db,
                                const Array& dc) {
    const Array x = sylvester_by_rule(a, b, c, tolerance);
    const auto product = [&](const Array& d) { return matmul(a, d) + matmul(d, b); };
    const auto solved = [&](const Array& right) { return sylvester_by_forms(a, b, right, tolerance); };
    const auto transposed = [&](const Array& right) {
      return sylvester_by_forms(matrices::transposed(a), matrices::transposed(b), right, tolerance);
    };
    return std::pair(x, system_solution(product, dc - matmul(da, x) - matmul(x, db), solved, transposed));
  };
  return custom_jvp(value, rule)(a, b, c);
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
  return given.narrow(options.by_eigenvectors ? sylvester_by_eigenvectors(all[0], all[1], all[2], options.tolerance)
                                              : sylvester_by_rule(all[0], all[1], all[2], options.tolerance));
}

}  // namespace tenon::linalg
