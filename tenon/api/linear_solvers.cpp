// Krylov methods on vectors, into which trees are made, as solvers of custom_linear_solve.
#include "tenon/api/linear_solvers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/api/loops.h"
#include "tenon/api/raveling.h"
#include "tenon/api/special/function.h"
#include "tenon/api/tangents.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/promotion.h"

namespace tenon::api_detail {
namespace {

using Map = std::function<Array(const Array&)>;

// A system of vectors, as a method solves it.
struct KrylovSystem {
  Map a, preconditioner;  // may be empty
  Array b, x0;
  Array bound;   // of the residual's length
  Array most;    // steps
  bool complex;  // inner products are complex: all leaves are, so that the space is a complex one
  std::int64_t restart;
  bool incremental;

  Array apply_preconditioner(const Array& v) const { return preconditioner ? preconditioner(v) : v; }
  Array inner(const Array& x, const Array& y) const {
    const Array products = conj(x) * y;
    return sum(complex ? products : real(products));
  }
  Array square(const Array& x) const { return sum(squared_modulus(x)); }
};

// NaN where the residual is: where a or b are, all comparisons with it have ended the steps.
Array unless_nan(const Array& x, const Array& residual) {
  return where(is_nan(residual), Array(Scalar(std::nan("")).convert(x.dtype())), x);
}

Array steps_from(std::int64_t n) { return Array(Scalar(n)); }

Array conjugate_gradients(const KrylovSystem& s) {
  struct State {
    Array x, r, p, gamma, steps;
  };
  const Array bound = s.bound * s.bound;
  const auto unfinished = [&](const State& at) {
    return ((s.preconditioner ? s.square(at.r) : at.gamma) > bound) & (at.steps < s.most);
  };
  const auto step = [&](const State& at) {
    const Array image = s.a(at.p), along = at.gamma / real(s.inner(at.p, image));
    const Array r = at.r - along * image, z = s.apply_preconditioner(r), gamma = real(s.inner(r, z));
    return State{at.x + along * at.p, r, z + gamma / at.gamma * at.p, gamma, at.steps + 1};
  };
  const Array r = s.b - s.a(s.x0), z = s.apply_preconditioner(r);
  const State end = while_loop(unfinished, step, State{s.x0, r, z, real(s.inner(r, z)), steps_from(0)});
  return unless_nan(end.x, end.gamma);
}

Array stabilized_biconjugate_gradients(const KrylovSystem& s) {
  struct State {
    Array x, r, p, q, alpha, omega, rho, steps, goes_on;
  };
  const Array bound = s.bound * s.bound;
  const auto unfinished = [&](const State& at) { return (s.square(at.r) > bound) & (at.steps < s.most) & at.goes_on; };
  const Array start = s.b - s.a(s.x0);
  const auto step = [&](const State& at) {
    const Array rho = s.inner(start, at.r), beta = rho / at.rho * (at.alpha / at.omega);
    const Array p = at.r + beta * (at.p - at.omega * at.q), along = s.apply_preconditioner(p), q = s.a(along);
    const Array alpha = rho / s.inner(start, q), half = at.r - alpha * q;
    const Array second = s.apply_preconditioner(half), t = s.a(second), squares = s.square(t);
    const Array no_second = (s.square(half) <= bound) | (squares == 0);
    const Array omega =
        where(no_second, zeros_like(rho), s.inner(t, half) / where(squares == 0, ones_like(squares), squares));
    // Where a divisor has become zero there is no such step.
    const Array there = is_finite(alpha) & is_finite(beta) & (rho != 0);
    return State{where(there, at.x + (alpha * along + omega * second), at.x),
                 where(there, half - omega * t, at.r),
                 p,
                 q,
                 alpha,
                 omega,
                 rho,
                 at.steps + 1,
                 there & (omega != 0) & (alpha != 0)};
  };
  const Array one = ones_like(s.inner(start, start));
  const State begin{s.x0, start, zeros_like(start), zeros_like(start),  one,
                    one,  one,   steps_from(0),     Array(Scalar(true))};
  const State end = while_loop(unfinished, step, begin);
  return unless_nan(end.x, s.square(end.r));
}

// The orthonormal basis that gmres builds: rows of `vectors`; the matrix in it, [restart + 1, restart], made triangular
// by a unitary one. Of the triangular one row k is column k.
struct Krylov {
  Array vectors, columns, unitary, size, residual, goes_on;
};

Array with_row(const Array& matrix, const Array& k, const Array& row) {
  return dynamic_update_slice(matrix, expand_dims(row, 0), std::vector<Array>{k, zeros_like(k)});
}

// One vector more: a times the last one, without its parts along those that are there (twice, for what rounding has
// left), and a rotation that makes the new column triangular.
Krylov arnoldi_step(const KrylovSystem& s, const Krylov& at, const Array& first_residual) {
  const Array k = at.size, v = row_at(at.vectors, k), conjugated = conj(at.vectors);
  const Array image = s.a(s.apply_preconditioner(v));
  const auto parts = [&](const Array& w) { return matmul(conjugated, w); };
  const auto without = [&](const Array& w, const Array& h) { return w - matmul(h, at.vectors); };
  Array h = parts(image), rest = without(image, h);
  const Array again = parts(rest);
  h = h + again, rest = without(rest, again);
  const Array length = sqrt(s.square(rest)),
              unit = Array(Scalar(special::epsilon_of(length.dtype())).convert(length.dtype()));
  const Array closed = length <= unit * sqrt(s.square(image));
  const Array next =
      where(closed, zeros_like(rest), rest / convert(where(closed, ones_like(length), length), rest.dtype()));
  const Array places = arange(h.dim(0), k.dtype());
  h = where(places == k + 1, convert(where(closed, zeros_like(length), length), h.dtype()), h);
  const Array column = matmul(at.unitary, h), a = row_at(column, k), b = row_at(column, k + 1);
  const Array d = sqrt(real(a * conj(a)) + real(b * conj(b))), none = d == 0;
  const auto over = [&](const Array& x) { return x / convert(where(none, ones_like(d), d), x.dtype()); };
  const Array p = where(none, ones_like(a), over(a)), q = over(b);
  const Array upper = row_at(at.unitary, k), lower = row_at(at.unitary, k + 1);
  const Array unitary =
      with_row(with_row(at.unitary, k, conj(p) * upper + conj(q) * lower), k + 1, p * lower - q * upper);
  const Array triangular = where(places < k, column, where(places == k, convert(d, h.dtype()), zeros_like(h)));
  return {with_row(at.vectors, k + 1, next),
          with_row(at.columns, k, triangular),
          unitary,
          k + 1,
          first_residual * abs(row_at(row_at(unitary, k + 1), zeros_like(k))),
          !closed};
}

// What is to be added to x, whose residual this is.
Array krylov_correction(const KrylovSystem& s, const Array& residual, const Array& length) {
  const std::int64_t n = s.restart;
  const DType dtype = residual.dtype();
  const Array k = steps_from(0);
  const Array first = residual / convert(where(length == 0, ones_like(length), length), dtype);
  const Krylov begin{with_row(zeros({n + 1, residual.dim(0)}, dtype), k, first),
                     zeros({n, n + 1}, dtype),
                     eye(n + 1, dtype),
                     k,
                     length,
                     Array(Scalar(true))};
  const auto unfinished = [&](const Krylov& at) {
    const Array more = (at.size < steps_from(n)) & at.goes_on;
    return s.incremental ? more & (at.residual > s.bound) : more;
  };
  const Krylov end = while_loop(unfinished, [&](const Krylov& at) { return arnoldi_step(s, at, length); }, begin);
  const Array upper = transpose(slice_in_dim(end.columns, 0, n, 1)), diagonal = sum(upper * eye(n, dtype), 0);
  const Array none = diagonal == 0;
  const Array right = where(none, Array(Scalar::zero(dtype)), convert(length, dtype) * end.unitary(slice(0, n), 0));
  const Array full = upper + eye(n, dtype) * convert(none, dtype);
  const Array weights = squeeze(triangular_solve(full, expand_dims(right, 1), {.left_side = true}), 1);
  return s.apply_preconditioner(matmul(weights, slice_in_dim(end.vectors, 0, n, 0)));
}

Array generalized_minimal_residuals(const KrylovSystem& s) {
  struct State {
    Array x, r, length, steps, goes_on;
  };
  const auto unfinished = [&](const State& at) { return (at.length > s.bound) & (at.steps < s.most) & at.goes_on; };
  const auto step = [&](const State& at) {
    const Array x = at.x + krylov_correction(s, at.r, at.length), r = s.b - s.a(x), length = sqrt(s.square(r));
    const Array nearer = length < at.length;
    return State{where(nearer, x, at.x), where(nearer, r, at.r), where(nearer, length, at.length), at.steps + 1,
                 nearer};
  };
  const Array r = s.b - s.a(s.x0);
  const State end = while_loop(unfinished, step, State{s.x0, r, sqrt(s.square(r)), steps_from(0), Array(Scalar(true))});
  return unless_nan(end.x, end.length);
}

Array solved_by(IterativeMethod method, const KrylovSystem& s) {
  switch (method) {
    case IterativeMethod::cg:
      return conjugate_gradients(s);
    case IterativeMethod::bicgstab:
      return stabilized_biconjugate_gradients(s);
    case IterativeMethod::gmres:
      break;
  }
  return generalized_minimal_residuals(s);
}

std::string_view name_of_method(IterativeMethod method) {
  return method == IterativeMethod::cg ? "cg" : method == IterativeMethod::bicgstab ? "bicgstab" : "gmres";
}

void require_number_of_steps(std::string_view op, std::string_view name, std::int64_t n, std::int64_t least) {
  if (n >= least) return;
  throw ShapeError(fmt::format("{}: `{}` is {}.", op, name, n), fmt::format("Give a number from {} on.", least));
}
Array real_number(std::string_view op, std::string_view name, const Array& given, DType dtype) {
  const Type t = given.type();
  if (!t.is_array() || t.rank() != 0)
    throw ShapeError(fmt::format("{}: `{}` is {}, not one number.", op, name, t.text()), "Give one real number.");
  if (is_complex(t.dtype))
    throw DTypeError(fmt::format("{}: `{}` is {}, not a real number.", op, name, t.text()), "Give one real number.");
  return convert(stop_gradient(given), dtype);
}

// The start, in the types of b. Throws ShapeError where shapes differ.
Arrays start_of(std::string_view op, const Arrays& x0, const Arrays& b, LeafPaths paths) {
  Arrays start;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const Array x = x0.empty() ? zeros_like(b[i]) : x0[i];
    if (!x.type().is_array() || x.shape() != b[i].shape())
      throw ShapeError(fmt::format("{}: {} is {}, and b has {} there.", op, name_of_leaf("x0", paths()[i]),
                                   x.type().text(), b[i].type().text()),
                       "Start from a tree of the shapes of b.");
    start.push_back(convert(x, b[i].dtype()));
  }
  return start;
}

// A preconditioner's transpose, for the transposed system. None where it has none: the system is solved without.
Map transposed(IterativeMethod method, const Map& m, const Raveling& ravel) {
  if (!m) return {};
  // Hermitian: its transpose is its conjugate.
  if (method == IterativeMethod::cg) return [m](const Array& v) { return conj(m(conj(v))); };
  try {
    const Array zero = zeros({ravel.size()}, ravel.dtype());
    const auto flat = [&](std::span<const Array> in) { return Arrays{m(in[0])}; };
    const FlatLinear linear = vjp_flat(flat, {{zero}, {true}, [] { return std::vector<std::string>{"<0>"}; }});
    return [apply = linear.apply](const Array& v) { return apply(Arrays{v})[0]; };
  } catch (const DifferentiationError&) {
    return {};
  }
}

}  // namespace

Arrays iterative_solve_flat(IterativeMethod method, const KeptFlatFunction& a, std::span<const Array> given,
                            const IterativeOptions& options, LeafPaths paths) {
  const std::string_view op = name_of_method(method);
  const Arrays b = inexact(given);
  const Raveling ravel(op, "b", b, paths);
  if (options.maxiter) require_number_of_steps(op, "maxiter", *options.maxiter, 0);
  if (method == IterativeMethod::gmres) require_number_of_steps(op, "restart", options.restart, 1);
  const Arrays x0 = start_of(op, options.x0, b, paths);
  const DType numbers = real_part_of(ravel.dtype());
  const Array tol = real_number(op, "tol", options.tol, numbers), atol = real_number(op, "atol", options.atol, numbers);
  const Array most =
      options.maxiter ? steps_from(*options.maxiter) : convert(size_as_array(10 * ravel.size()), DType::i64);
  const std::int64_t restart = ravel.size().known()
                                   ? std::min(options.restart, std::max<std::int64_t>(ravel.size().value(), 1))
                                   : options.restart;
  Map precondition;
  if (options.preconditioner)
    precondition = [&](const Array& v) {
      return ravel.vector_of_result(op, "what the preconditioner returns", options.preconditioner(ravel.leaves(v)),
                                    paths);
    };
  const auto solver = [&](const Map& m, const Arrays& start) -> FlatSolver {
    return [&, m, start](const KeptFlatFunction& product, std::span<const Array> right) {
      const Map map = [&](const Array& v) { return ravel.vector(product(ravel.leaves(v))); };
      KrylovSystem system{map,
                          m,
                          ravel.vector(right),
                          ravel.vector(start),
                          {},
                          most,
                          ravel.all_complex(),
                          restart,
                          options.incremental};
      system.bound = max(tol * sqrt(system.square(system.b)), atol);
      return ravel.leaves(solved_by(method, system));
    };
  };
  const bool symmetric = method == IterativeMethod::cg && !is_complex(ravel.dtype());
  FlatSolver back;
  if (!symmetric && tracing()) {
    Arrays zero;
    for (const Array& each : b) zero.push_back(zeros_like(each));
    back = solver(transposed(method, precondition, ravel), zero);
  }
  const KeptFlatFunction product = [&](std::span<const Array> v) {
    return ravel.leaves_of_result(op, "what a returns", a(v), paths);
  };
  Arrays x = linear_solve_flat(product, b, solver(precondition, x0), back, symmetric, paths);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i].with_weak(given[i].weak() && given[i].dtype() == x[i].dtype());
  return x;
}

Arrays iterative_solve_flat(IterativeMethod method, const Array& a, std::span<const Array> b,
                            const IterativeOptions& options, LeafPaths paths) {
  const std::string_view op = name_of_method(method);
  const Type t = a.type();
  if (!t.is_array() || t.rank() != 2 || t.shape[0] != t.shape[1])
    throw ShapeError(fmt::format("{}: the matrix is {}, not square.", op, t.text()),
                     "Give a matrix [n, n], or a function that is linear.");
  if (b.size() != 1)
    throw TreeError(fmt::format("{}: a matrix is given, and b has {} arrays.", op, b.size()),
                    "Give a function of the tree.");
  const Type right = b[0].type();
  if (!right.is_array() || right.rank() == 0 || right.rank() > 2 || right.shape[0] != t.shape[1])
    throw ShapeError(fmt::format("{}: the matrix is {}, and b is {}.", op, t.text(), right.text()),
                     "b is a vector as long as the matrix has columns.");
  const Arrays met = in_one_dtype(inexact(Arrays{a, b[0]})).operands;
  const Array matrix = met[0];
  return iterative_solve_flat(
      method, [matrix](std::span<const Array> v) { return Arrays{matmul(matrix, v[0])}; }, Arrays{met[1]}, options,
      paths);
}

}  // namespace tenon::api_detail
