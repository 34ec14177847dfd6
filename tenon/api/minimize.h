// Minima of functions of many variables, by quasi-Newton methods: as scipy.optimize and jax.scipy.optimize name them.
#pragma once

#include <limits>

#include "tenon/api/implicit.h"

namespace tenon {
namespace optim {

// bfgs keeps an estimate of the inverse Hessian, n² numbers for n variables; lbfgs the last `history` steps.
enum class MinimizeMethod : std::uint8_t { bfgs, lbfgs };
struct MinimizeOptions {
  MinimizeMethod method = MinimizeMethod::bfgs;
  Array gtol = 1e-5;                                      // ends where the gradient's norm is less
  double norm = std::numeric_limits<double>::infinity();  // its order, from 1 on
  std::optional<std::int64_t> maxiter = {};               // 200 for each variable, where it is not given
  std::optional<std::int64_t> line_search_maxiter = {};   // values that bracket a step: 10 of bfgs, 20 of lbfgs
  // Of lbfgs: steps that are kept; ends where the function decreases by less than ftol; the most values and gradients.
  std::int64_t history = 10;
  Array ftol = 2.220446049250313e-09;
  std::optional<std::int64_t> maxfun = {}, maxgrad = {};
};

// success: a place was found where the gradient is small. status: 0 there; 1 after maxiter steps; of bfgs 3 where no
// step satisfies Wolfe's conditions, as where rounding hides the function's slope, 5 where none was bracketed; of lbfgs
// 2 after maxfun values, 3 after maxgrad gradients, 4 where the function decreases by less than ftol, 5 where no step
// was found. fun: the least value; jac: the gradient there; hess_inv: [n, n], the estimate of the inverse Hessian, of
// the variables one behind the other, and of lbfgs an empty Array; nfev, njev: how many values and gradients were
// taken, nit: how many steps, i32.
template <class T>
struct OptimizeResults {
  T x;
  Array success, status, fun;
  T jac;
  Array hess_inv, nfev, njev, nit;
};

}  // namespace optim

namespace api_detail {

struct FlatMinimum {
  Arrays x, jac;
  Array success, status, fun, hess_inv, nfev, njev, nit;
};
// f: leaves like those of the start -> one array, a real number.
FlatMinimum minimize_flat(const KeptFlatFunction& f, std::span<const Array> start,
                          const optim::MinimizeOptions& options, LeafPaths paths);

}  // namespace api_detail

namespace optim {

// A local minimum of f, which takes a tree like x0 and returns one real number, near x0: a tree of real or complex
// arrays (integers become f32, 64-bit ones f64; f8, f16 and bf16 are computed in f32; of complex numbers both parts are
// variables, in norms and in hess_inv too, the imaginary ones behind all real ones). By Broyden, Fletcher, Goldfarb and
// Shanno's updates (Nocedal and Wright 2006, algorithms 6.1 and 7.5), each step along a line to a place where Wolfe's
// strong conditions hold (3.5 and 3.6). One loop, each of whose turns takes one value with its gradient. Derivatives of
// x and fun, at any order and in both modes, are those of the equation that the gradient is zero there, in what f
// captures: each solves a system with the Hessian, by conjugate gradients. Throws TreeError, ShapeError or DTypeError
// where f does not return one real number; ShapeError where an option is out of its range.
//   auto best = tn::optim::minimize([](Array x) { return tn::sum(tn::square(x - 3.0)); }, tn::zeros({2}));
//   best.x   // 3 3
template <class F, class T>
OptimizeResults<T> minimize(F f, const T& x0, const MinimizeOptions& options = {},
                            const Source& where = std::source_location::current()) {
  const SourceScope place(where, "minimize");
  static_assert(tree_detail::check_argument<T>());
  static_assert(std::is_invocable_r_v<Array, F&, const T&>,
                "minimize: the function takes a tree like x0 and returns one number, an Array");
  const KeptFlatFunction flat = [&](std::span<const Array> in) { return Arrays{f(tree::with_leaves(x0, in))}; };
  const api_detail::FlatMinimum m =
      api_detail::minimize_flat(flat, tree::leaves(x0), options, [&] { return tree::paths(x0); });
  return {tree::with_leaves(x0, m.x),
          m.success,
          m.status,
          m.fun,
          tree::with_leaves(x0, m.jac),
          m.hess_inv,
          m.nfev,
          m.njev,
          m.nit};
}

}  // namespace optim
}  // namespace tenon
