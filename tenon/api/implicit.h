// custom_root and custom_linear_solve: implicit derivatives, which see the equation and not how it was solved.
#pragma once

#include "tenon/api/arguments.h"
#include "tenon/base/function_ref.h"

namespace tenon {

namespace api_detail {

// (function, values) -> values, all of one tree's leaves.
using FlatSolver = std::function<Arrays(const KeptFlatFunction&, std::span<const Array>)>;

// Names of the leaves, asked for by errors alone.
using LeafPaths = FunctionRef<std::vector<std::string>()>;

// A function of the user's that a rule of ours differentiates, whether a derivative is taken around it or not; and such
// a function with other arrays in place of its captures.
TracedFunction traced_for_rule(const KeptFlatFunction& f, const std::vector<Type>& types);
KeptFlatFunction with_captures(const TracedFunction& f, Arrays captures);

// solve may give more than the root: what is auxiliary, behind it.
Arrays custom_root_flat(const KeptFlatFunction& f, std::span<const Array> guess, const FlatSolver& solve,
                        const FlatSolver& tangent_solve, LeafPaths paths);

// transpose_solve may be empty.
Arrays linear_solve_flat(const KeptFlatFunction& matvec, std::span<const Array> b, const FlatSolver& solve,
                         const FlatSolver& transpose_solve, bool symmetric, LeafPaths paths);

// A function of one tree, that gives such a tree, as flat arrays; and back.
template <class T, class F>
KeptFlatFunction flat_endomorphism(std::string_view op, std::string_view what, F& f, const T& like) {
  return [op, what, &f, &like](std::span<const Array> in) {
    const T result(f(tree::with_leaves(like, in)));
    tree::require_same(op, what, like, result);
    return tree::leaves(result);
  };
}
template <class T, class Solve>
FlatSolver flat_solver(std::string_view op, std::string_view what, Solve& solve, const T& like) {
  return [op, what, &solve, &like](const KeptFlatFunction& flat, std::span<const Array> in) {
    const std::function<T(const T&)> f = [flat, like](const T& x) {
      return tree::with_leaves(like, flat(tree::leaves(x)));
    };
    const T result(solve(f, tree::with_leaves(like, in)));
    tree::require_same(op, what, like, result);
    return tree::leaves(result);
  };
}

}  // namespace api_detail

// The root of f near a guess, f(root) = 0: what solve(f, guess) returns, a tree like the guess. Its derivatives are
// those of the equation in what f captures, by the implicit function theorem, at any order; neither those of solve,
// which may be any loop, nor in the guess. tangent_solve(g, y) returns the x with g(x) = y for g, f linearised at the
// root: for one number y / g(1.0), else a linear solver, custom_linear_solve() among them.
//   Array root = tn::custom_root([](Array x) { return x * x - 2.0; }, Array(1.0),
//                                [](auto f, Array x) {
//                                  return tn::while_loop([&](Array v) { return tn::abs(f(v)) > 1e-14; },
//                                                        [&](Array v) { return v - f(v) / (2.0 * v); }, x);
//                                },
//                                [](auto g, Array y) { return y / g(Array(1.0)); });
//   root   // √2 = 1.414214
// f and solve return trees like the guess, of real or complex arrays. Throws TreeError, ShapeError or DTypeError where
// they do not.
template <class F, class Guess, class Solve, class TangentSolve>
Guess custom_root(F f, const Guess& guess, Solve solve, TangentSolve tangent_solve,
                  const Source& where = std::source_location::current()) {
  const SourceScope place(where, "custom_root");
  static_assert(tree_detail::check_argument<Guess>());
  using Function = std::function<Guess(const Guess&)>;
  static_assert(std::is_invocable_r_v<Guess, F&, const Guess&>,
                "custom_root: f takes a tree like the guess and returns one, zero at the root");
  static_assert(std::is_invocable_r_v<Guess, Solve&, const Function&, const Guess&>,
                "custom_root: solve takes (f, guess) and returns a tree like the guess; say tn::has_aux where it "
                "returns a std::pair of that and auxiliary results");
  static_assert(std::is_invocable_r_v<Guess, TangentSolve&, const Function&, const Guess&>,
                "custom_root: tangent_solve takes (g, y) and returns the x with g(x) = y, a tree like the guess");
  const auto flat = api_detail::flat_endomorphism("custom_root", "the guess and what f returns", f, guess);
  const auto solver = api_detail::flat_solver("custom_root", "the guess and what solve returns", solve, guess);
  const auto tangents =
      api_detail::flat_solver("custom_root", "the guess and what tangent_solve returns", tangent_solve, guess);
  return tree::with_leaves(guess, api_detail::custom_root_flat(flat, tree::leaves(guess), solver, tangents,
                                                               [&] { return tree::paths(guess); }));
}

// solve returns std::pair(root, auxiliary): any tree, such as the number of steps, that is not differentiated; and so
// does this.
//   const auto newton = [](auto f, Array x) { return std::pair(x - f(x) / (2.0 * x), Array(1)); };
//   tn::custom_root([](Array x) { return x * x - 2.0; }, Array(1.5), newton,
//                   [](auto g, Array y) { return y / g(Array(1.0)); }, tn::has_aux)   // 1.416667, 1
template <class F, class Guess, class Solve, class TangentSolve>
auto custom_root(F f, const Guess& guess, Solve solve, TangentSolve tangent_solve, HasAux,
                 const Source& where = std::source_location::current()) {
  const SourceScope place(where, "custom_root");
  using Function = std::function<Guess(const Guess&)>;
  using Solved = std::remove_cvref_t<std::invoke_result_t<Solve&, const Function&, const Guess&>>;
  static_assert(api_detail::is_pair_of<Guess, Solved>,
                "custom_root with has_aux: solve takes (f, guess) and returns std::pair of a tree like the guess and "
                "what is auxiliary");
  static_assert(
      std::is_invocable_r_v<Guess, F&, const Guess&> &&
          std::is_invocable_r_v<Guess, TangentSolve&, const Function&, const Guess&>,
      "custom_root: f takes a tree like the guess; tangent_solve takes (g, y) and returns the x with g(x) = y");
  using Aux = typename Solved::second_type;
  std::optional<Aux> aux;
  const auto flat = api_detail::flat_endomorphism("custom_root", "the guess and what f returns", f, guess);
  const auto root = [&](const Function& equation, const Guess& start) {
    Solved result(solve(equation, start));
    aux.emplace(std::move(result.second));
    return Guess(std::move(result.first));
  };
  const auto root_solver = api_detail::flat_solver("custom_root", "the guess and what solve returns", root, guess);
  const api_detail::FlatSolver solver = [&](const KeptFlatFunction& equation, std::span<const Array> in) {
    Arrays all = root_solver(equation, in);
    for (const Array& a : tree::leaves(*aux)) all.push_back(a);
    return all;
  };
  const auto tangents =
      api_detail::flat_solver("custom_root", "the guess and what tangent_solve returns", tangent_solve, guess);
  const Arrays results =
      api_detail::custom_root_flat(flat, tree::leaves(guess), solver, tangents, [&] { return tree::paths(guess); });
  const std::size_t n = tree::leaves(guess).size();
  const std::span<const Array> all(results);
  return std::pair<Guess, Aux>(tree::with_leaves(guess, all.first(n)), tree::with_leaves(*aux, all.subspan(n)));
}

struct LinearSolveOptions {
  // The product is its own transpose (without conjugation): solve serves for both.
  bool symmetric = false;
};

// The x with matvec(x) = b: what solve(matvec, b) returns, a tree like b. matvec is linear; derivatives are those of
// the system, in b and in what matvec captures, at any order, and each solves a system with solve or, in reverse mode,
// the transposed system with transpose_solve(vecmat, b), where vecmat is matvec transposed. Without transpose_solve and
// not symmetric, reverse mode is a DifferentiationError.
//   Array x = tn::custom_linear_solve([&](Array v) { return tn::matmul(a, v); }, b, conjugate_gradients,
//                                     {.symmetric = true});
// matvec and the solvers return trees like b, of real or complex arrays. Throws TreeError, ShapeError or DTypeError
// where they do not, and DifferentiationError where matvec has to be transposed and cannot be.
template <class MatVec, class B, class Solve, class TransposeSolve>
  requires(!std::same_as<TransposeSolve, LinearSolveOptions>)
B custom_linear_solve(MatVec matvec, const B& b, Solve solve, TransposeSolve transpose_solve,
                      LinearSolveOptions options = {}, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "custom_linear_solve");
  static_assert(tree_detail::check_argument<B>());
  using Function = std::function<B(const B&)>;
  static_assert(std::is_invocable_r_v<B, MatVec&, const B&>,
                "custom_linear_solve: matvec takes a tree like b and returns one");
  static_assert(std::is_invocable_r_v<B, Solve&, const Function&, const B&>,
                "custom_linear_solve: solve takes (matvec, b) and returns a tree like b");
  const auto flat = api_detail::flat_endomorphism("custom_linear_solve", "b and what matvec returns", matvec, b);
  const auto solver = api_detail::flat_solver("custom_linear_solve", "b and what solve returns", solve, b);
  api_detail::FlatSolver transposed;
  if constexpr (!std::is_null_pointer_v<TransposeSolve>) {
    static_assert(std::is_invocable_r_v<B, TransposeSolve&, const Function&, const B&>,
                  "custom_linear_solve: transpose_solve takes (vecmat, b) and returns a tree like b");
    transposed =
        api_detail::flat_solver("custom_linear_solve", "b and what transpose_solve returns", transpose_solve, b);
  }
  return tree::with_leaves(b, api_detail::linear_solve_flat(flat, tree::leaves(b), solver, transposed,
                                                            options.symmetric, [&] { return tree::paths(b); }));
}
template <class MatVec, class B, class Solve>
B custom_linear_solve(MatVec matvec, const B& b, Solve solve, LinearSolveOptions options = {},
                      const Source& where = std::source_location::current()) {
  return custom_linear_solve(std::move(matvec), b, std::move(solve), nullptr, options, where);
}

}  // namespace tenon
