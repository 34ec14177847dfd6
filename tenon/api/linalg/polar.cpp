// Polar factors, by singular values and by iterations.
#include <fmt/format.h>

#include <cmath>

#include "tenon/api/custom.h"
#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/loops.h"
#include "tenon/api/special/function.h"
#include "tenon/api/tangents.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {
namespace {

using matrices::adjoint, matrices::columns_of, matrices::rows_of;

using Parts = std::tuple<Array, Array>;  // u and p of a = u·p

// The w with p·w + w·p = c, p Hermitian and positive definite. To derivatives it is a linear system: they are systems
// of the same kind, and divide by sums of eigenvalues alone.
Array between_equal(const Array& p, const Array& c) {
  const auto solved = [](const Array& of, const Array& right) {
    const Arrays spectrum = hermitian_spectrum(of, true);
    const Array &s = spectrum[0], &v = spectrum[1], vh = adjoint(v);
    const Array sums = convert(expand_dims(s, -1) + expand_dims(s, -2), of.dtype());
    return matmul(matmul(v, matmul(matmul(vh, right), v) / sums), vh);
  };
  return system_solution([&](const Array& w) { return matmul(p, w) + matmul(w, p); }, c,
                         [&](const Array& right) { return solved(p, right); },
                         [&](const Array& right) { return solved(matrices::transposed(p), right); });
}

// By polar factors alone, for the same reason. With q = uᴴ·u the part w of du that turns rows of u among each other
// solves p·w + w·p = uᴴ·da·q - q·daᴴ·u; where q is not 1, p has 1 added at right angles to u's rows, and is regular.
// Where a is not square du has a part at right angles to u's columns or rows too (Higham 2008, 8.2); dp = uᴴ·da +
// duᴴ·a.
Parts polar_slopes(const Array& of, const Array& u, const Array& p, const Array& da) {
  const Array uh = adjoint(u), inner = matmul(uh, da);
  const std::optional<bool> square = decided_equal(rows_of(of.type()), columns_of(of.type()));
  Array turn;
  if (square.value_or(false)) {
    turn = matmul(u, between_equal(p, inner - adjoint(inner)));
  } else {
    const Array q = matmul(uh, u), regular = p + matrices::unit_like(p) - q, within = matmul(inner, q);
    const Array columns = matmul(u, uh), left = matmul(of, uh) + matrices::unit_like(columns) - columns;
    const Array beside = matmul(da - matmul(u, inner), q), over = da - matmul(da, q);
    turn = matmul(u, between_equal(regular, within - adjoint(within))) + adjoint(solve(regular, adjoint(beside))) +
           solve(left, over);
  }
  return {turn, inner + matmul(adjoint(turn), of)};
}
// u and p, found without derivatives, as the polar factors of a.
Parts with_polar_slopes(const Array& a, const Array& u, const Array& p) {
  const auto value = [](const Array&, const Array& u, const Array& p) { return Parts(u, p); };
  const auto rule = [](const Array& of, const Array& u, const Array& p, const Array& da, const Array&, const Array&) {
    const Parts made = with_polar_slopes(of, u, p);
    return std::pair(made, polar_slopes(of, std::get<0>(made), std::get<1>(made), da));
  };
  return custom_jvp(value, rule)(a, stop_gradient(u), stop_gradient(p));
}

// The weights of a step of Halley's iteration, u·(a + b·uᴴu)·(1 + c·uᴴu)⁻¹.
struct HalleyWeights {
  double a, b, c;
};
// Those of each step, where singular values are at least `least`, until they are 1 but for rounding; once
// they are, weights are 3, 1 and 3 (Nakatsukasa, Bai and Gygi 2010, 3.2).
std::vector<HalleyWeights> halley_weights(double least, std::int64_t at_most) {
  std::vector<HalleyWeights> all;
  const double near = 5 * least;
  for (double l = least; l + near < 1 && static_cast<std::int64_t>(all.size()) < at_most;) {
    const double l2 = l * l, d = std::cbrt(4 * (1 / l2 - 1) / l2), root = std::sqrt(1 + d);
    const double a = root + std::sqrt(2 - d + 2 * (2 - l2) / (l2 * root)), b = (a - 1) * (a - 1) / 4, c = a + b - 1;
    all.push_back({a, b, c});
    l *= (a + b * l2) / (1 + c * l2);
  }
  return all;
}

// A step by the factors of Cholesky of 1 + c·uᴴu, which costs less; and where c is so large that these
// would lose digits, by the orthonormal columns (q1, q2) of (√c·u, 1): q1·q2ᴴ = √c·u·(1 + c·uᴴu)⁻¹.
Array halley_step(const Array& u, const HalleyWeights& weights) {
  const auto& [a, b, c] = weights;
  const double kept = b / c;
  const Array squares = matmul(adjoint(u), u), unit = matrices::unit_like(squares);
  if (c <= 100) {
    const Array root = cholesky(c * squares + unit, {.symmetrize = false});
    const Array half = triangular_solve(root, u, {.lower = true, .transpose_a = true, .conjugate_a = true});
    return kept * u + (a - kept) * triangular_solve(root, half, {.lower = true});
  }
  const Array q = qr(concatenate({std::sqrt(c) * u, unit}, -2)).q;
  const Dim m = rows_of(u.type()), n = columns_of(u.type());
  const Array q1 = slice_in_dim(q, 0, m, -2), q2 = slice_in_dim(q, m, m + n, -2);
  return kept * u + (a - kept) / std::sqrt(c) * matmul(q1, adjoint(q2));
}

// A number of each matrix, beside its elements.
Array beside_matrix(const Array& each) { return expand_dims(expand_dims(each, -1), -1); }

Qdwh by_halley(const Array& x, const QdwhOptions& options) {
  const DType part = real_part_of(x.dtype());
  const double eps = options.eps.value_or(special::epsilon_of(x.dtype())), near = std::cbrt(5 * eps);
  // At least the largest singular value.
  const Array size = sqrt(matrix_norm(x, MatrixNorm::one)) * sqrt(matrix_norm(x, MatrixNorm::infinity));
  const Array scale = where(size == 0.f, ones_like(size), 1.f / size);
  Array u = x * convert(beside_matrix(scale), x.dtype());
  Array going = broadcast_to(Array(Scalar(true)), size.shape());
  const std::vector<HalleyWeights> all = halley_weights(eps, options.max_iterations);
  const auto moves = [&](const Array& next, const Array& before) {
    return matrix_norm(next - before) > Array(Scalar(near).convert(part));
  };
  for (const HalleyWeights& weights : all) {
    const Array next = halley_step(u, weights);
    if (weights.c <= 100) going = moves(next, u);
    u = next;
  }
  struct State {
    Array u, going, taken;
  };
  const auto done = static_cast<std::int32_t>(all.size()), most = static_cast<std::int32_t>(options.max_iterations);
  const State start{u, going, broadcast_to(Array(Scalar(done)), size.shape())};
  const auto further = [&](const State& at) {
    const Array next = halley_step(at.u, {3, 1, 3});
    return State{where(beside_matrix(at.going), next, at.u), at.going & moves(next, at.u),
                 at.taken + convert(at.going, DType::i32)};
  };
  // Each matrix goes on until it has come to rest.
  const State end =
      while_loop([&](const State& at) { return any(at.going & (at.taken < Array(Scalar(most)))); }, further, start);
  u = 1.5 * end.u - 0.5 * matmul(end.u, matmul(adjoint(end.u), end.u));  // Newton and Schulz: fewer roundings
  return {u, matrices::symmetrized(matmul(adjoint(u), x)), end.taken, !end.going};
}

}  // namespace

Polar polar(const Operand& a, const PolarOptions& options) {
  const SourceScope place(a.where(), "polar");
  const Taken x = matrix_of("polar", a);
  const Array of = options.left ? adjoint(x.a) : x.a;
  const Arrays f = singular_spectrum(stop_gradient(of), true, false);
  const Array &s = f[0], &vh = f[2];
  const auto [u, p] =
      with_polar_slopes(of, matmul(f[1], vh), matmul(adjoint(vh), convert(expand_dims(s, -1), of.dtype()) * vh));
  return {x.narrow(options.left ? adjoint(u) : u), x.narrow(p)};
}

Qdwh qdwh(const Operand& a, const QdwhOptions& options) {
  const SourceScope place(a.where(), "qdwh");
  const Taken x = matrix_of("qdwh", a);
  if (decided_less(rows_of(x.a.type()), columns_of(x.a.type())).value_or(false))
    throw ShapeError(fmt::format("qdwh: {} has fewer rows than columns.", a->type().text()),
                     "Give its adjoint: of aᴴ = u·h, a = h·uᴴ.");
  if (options.max_iterations < 0 || !(options.eps.value_or(0.5) > 0 && options.eps.value_or(0.5) < 1))
    throw ShapeError("qdwh: there is no such number of iterations, or no such unit of rounding.",
                     "Give `max_iterations` from 0 on, and an `eps` between 0 and 1.");
  if (without_elements(x.a)) {
    const Shape batch = matrices::batch_of(x.a.type());
    return {x.narrow(x.a), x.narrow(matmul(adjoint(x.a), x.a)), zeros(batch, DType::i32),
            broadcast_to(Array(Scalar(true)), batch)};
  }
  Qdwh made = by_halley(stop_gradient(x.a), options);
  const auto [u, h] = with_polar_slopes(x.a, made.u, made.h);
  return {x.narrow(u), x.narrow(h), made.num_iters, made.is_converged};
}

}  // namespace tenon::linalg
