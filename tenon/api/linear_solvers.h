// Systems of linear equations solved by iterations, of which the matrix is known by its products with vectors alone: as
// scipy.sparse.linalg and jax.scipy.sparse.linalg name them.
//
// a: a function of a tree like b that is linear and returns such a tree, or a square matrix (an Array, whose product
// with b is matmul). b: a tree of real or complex arrays of any shapes, one vector together; integers become f32
// (64-bit ones f64), f8, f16 and bf16 are computed in f32. Derivatives are those of the system, in b and in what `a`
// holds or captures, at any order and in both modes: each solves one system more, by the same method, and is as exact
// as that solution. There are none in x0, tolerances and preconditioners. A solution that is not found in `maxiter`
// steps is what was reached by then, and NaN where a or b have NaN; nothing is thrown. Throws ShapeError where a matrix
// is not square or does not fit b, and where a number of steps is negative; TreeError, ShapeError or DTypeError where
// functions do not return trees like b.
#pragma once

#include <functional>

#include "tenon/api/implicit.h"

namespace tenon {
namespace api_detail {

enum class IterativeMethod : std::uint8_t { cg, bicgstab, gmres };
struct IterativeOptions {
  Array tol = 1e-5, atol = 0.0;
  std::optional<std::int64_t> maxiter = {};
  Arrays x0 = {};                        // empty: zeros
  KeptFlatFunction preconditioner = {};  // may be empty
  std::int64_t restart = 20;             // of gmres
  bool incremental = false;
};
// a: (leaves like those of b) -> such leaves.
Arrays iterative_solve_flat(IterativeMethod method, const KeptFlatFunction& a, std::span<const Array> b,
                            const IterativeOptions& options, LeafPaths paths);
// The same of a matrix.
Arrays iterative_solve_flat(IterativeMethod method, const Array& a, std::span<const Array> b,
                            const IterativeOptions& options, LeafPaths paths);

template <class A, class B, class Options>
B iterative_solve(IterativeMethod method, A& a, const B& b, const Options& given, std::int64_t restart,
                  bool incremental) {
  static_assert(tree_detail::check_argument<B>());
  IterativeOptions options{given.tol, given.atol, given.maxiter, {}, {}, restart, incremental};
  const std::string_view op = SourceScope::function();
  if (given.x0) {
    tree::require_same(op, "x0 and b", *given.x0, b);
    options.x0 = tree::leaves(*given.x0);
  }
  if (given.preconditioner)
    options.preconditioner = flat_endomorphism(op, "b and what the preconditioner returns", given.preconditioner, b);
  const auto paths = [&] { return tree::paths(b); };
  if constexpr (std::is_same_v<A, Array>) {
    return tree::with_leaves(b, iterative_solve_flat(method, a, tree::leaves(b), options, paths));
  } else {
    static_assert(std::is_invocable_r_v<B, A&, const B&>,
                  "a linear system: a is a square matrix, or a function that takes a tree like b and returns one");
    const KeptFlatFunction product = flat_endomorphism(op, "b and what a returns", a, b);
    return tree::with_leaves(b, iterative_solve_flat(method, product, tree::leaves(b), options, paths));
  }
}

}  // namespace api_detail

namespace linalg {

// Steps end where |b - a·x| <= max(tol·|b|, atol).
template <class B>
struct SolverOptions {
  Array tol = 1e-5, atol = 0.0;
  std::optional<std::int64_t> maxiter = {};  // 10 for each number in b, where it is not given
  std::optional<B> x0 = {};                  // where to start; zeros
  // About the inverse of a, as a function.
  std::function<B(const B&)> preconditioner = {};
};

// a is symmetric (of complex numbers Hermitian) and positive definite: by conjugate gradients (Hestenes and Stiefel
// 1952); so is the preconditioner. One product a step. Derivatives of real systems take `a` as symmetric too.
//   Array x = tn::linalg::cg([&](Array v) { return tn::matmul(a, v); }, b, {.tol = 1e-8});
template <class A, class B>
B cg(A a, const B& b, const std::type_identity_t<SolverOptions<B>>& options = {},
     const Source& where = std::source_location::current()) {
  const SourceScope place(where, "cg");
  return api_detail::iterative_solve(api_detail::IterativeMethod::cg, a, b, options, 0, false);
}

// Any a without zero as eigenvalue: by stabilized biconjugate gradients (van der Vorst 1992). Two products a step. It
// may break down, where it ends.
//   Array x = tn::linalg::bicgstab(a, b);
template <class A, class B>
B bicgstab(A a, const B& b, const std::type_identity_t<SolverOptions<B>>& options = {},
           const Source& where = std::source_location::current()) {
  const SourceScope place(where, "bicgstab");
  return api_detail::iterative_solve(api_detail::IterativeMethod::bicgstab, a, b, options, 0, false);
}

// Whether gmres looks after each vector whether it has come near enough, or once a restart.
enum class GmresMethod : std::uint8_t { batched, incremental };
template <class B>
struct GmresOptions {
  Array tol = 1e-5, atol = 0.0;
  std::optional<std::int64_t> maxiter = {};  // of restarts: 10 for each number in b, where it is not given
  std::optional<B> x0 = {};
  std::function<B(const B&)> preconditioner = {};
  std::int64_t restart = 20;  // vectors that are kept: no more than there are numbers in b
  GmresMethod method = GmresMethod::batched;
};

// Any a: the x with the least |b - a·x| among combinations of b, a·b, a·a·b, …, `restart` of them, then again from
// there (Saad and Schultz 1986). The preconditioner is applied before a, so that the residual is that of the system.
// Ends also where a restart comes no nearer.
//   Array x = tn::linalg::gmres(a, b, {.restart = 50});
template <class A, class B>
B gmres(A a, const B& b, const std::type_identity_t<GmresOptions<B>>& options = {},
        const Source& where = std::source_location::current()) {
  const SourceScope place(where, "gmres");
  return api_detail::iterative_solve(api_detail::IterativeMethod::gmres, a, b, options, options.restart,
                                     options.method == GmresMethod::incremental);
}

}  // namespace linalg
}  // namespace tenon
