// Ordinary differential equations: a pair of Runge-Kutta methods with steps that adapt themselves.
#pragma once

#include <limits>

#include "tenon/api/implicit.h"

namespace tenon {

// A step counts where the mean of squares of its errors, each over atol + rtol·|y|, is at most 1.
struct OdeOptions {
  double rtol = 1.4e-8, atol = 1.4e-8;
  std::optional<std::int64_t> mxstep = {};                // steps for each time, tried ones too; absent: any number
  double hmax = std::numeric_limits<double>::infinity();  // the longest step
  bool adjoint = true;
};

namespace api_detail {

// f: leaves of y, t, leaves of arguments -> leaves like those of y.
Arrays odeint_flat(const KeptFlatFunction& f, std::span<const Array> y0, const Array& t, std::span<const Array> args,
                   const OdeOptions& options, LeafPaths paths);
// Leaves like those of y0, then how many steps counted, and how many did not.
Arrays odeint_end_flat(const KeptFlatFunction& f, std::span<const Array> y0, const Array& t0, const Array& t1,
                       std::span<const Array> args, const OdeOptions& options, LeafPaths paths);

// f of leaves of y and t. static_asserts that f is one.
template <class F, class Y>
auto flat_slope(std::string_view op, F& f, const Y& y0) {
  static_assert(tree_detail::check_argument<Y>());
  static_assert(std::is_invocable_r_v<Y, F&, const Y&, const Array&>,
                "odeint: f takes (y, t), a tree like y0 and one number, and returns a tree like y0");
  return [op, &f, &y0, n = tree::count(y0)](std::span<const Array> in) {
    const Y slope(f(tree::with_leaves(y0, in.first(n)), in[n]));
    tree::require_same(op, "y0 and what f returns", y0, slope);
    return tree::leaves(slope);
  };
}

}  // namespace api_detail

// y at the times t, where dy/dt = f(y, t) and y(t[0]) = y0: a tree like y0, of real or complex arrays (integers become
// f32, 64-bit ones f64), with an axis of t's length in front. t: [n], real and ascending. By Dormand and Prince's pair
// of orders 5 and 4 (1980), whose steps pass the times t, where y is read off a polynomial of order 4 (Shampine 1986).
//
// Reverse mode solves the adjoint equation backwards from time to time (Pontryagin; Chen et al. 2018): it keeps y at
// the times t alone, and is as exact as the tolerances say. Derivatives are in y0, t and what f captures, of any order
// in reverse mode; forward mode is a DifferentiationError. Without `adjoint` they are those of the steps that were
// taken, in both modes, and reverse mode keeps what each step computes. f8, f16 and bf16 are computed in f32.
//
// NaN at a time that is not reached in mxstep steps, past which no step is short enough, or that does not ascend.
// Throws ShapeError where t is no vector or empty, an option is out of its range, TreeError, ShapeError or DTypeError
// where f does not return a tree like y0.
//   tn::odeint([](Array y, Array) { return -2.0 * y; }, Array(1.0), Array{0.0, 0.5, 1.0})   // 1 0.3678794 0.1353353
template <class F, class Y>
Y odeint(F f, const Y& y0, const Operand& t, const OdeOptions& options = {}) {
  const SourceScope place(t.where(), "odeint");
  const KeptFlatFunction flat = api_detail::flat_slope("odeint", f, y0);
  return tree::with_leaves(
      y0, api_detail::odeint_flat(flat, tree::leaves(y0), t.array(), {}, options, [&] { return tree::paths(y0); }));
}

// What odeint_end() gives: y there; how many steps counted, and how many were tried in vain, i64.
template <class Y>
struct OdeEnd {
  Y y;
  Array accepted, rejected;
};
// y at t1 alone, where dy/dt = f(y, t) and y(t0) = y0, with options and derivatives as those of odeint(): the last step
// ends there, so that nothing is read off a polynomial. t0, t1: real numbers, t1 not before t0, else y is NaN.
//   tn::odeint_end([](Array y, Array) { return -2.0 * y; }, Array(1.0), 0.0, 1.0).y   // 0.1353353
template <class F, class Y>
OdeEnd<Y> odeint_end(F f, const Y& y0, const Operand& t0, const Operand& t1, const OdeOptions& options = {}) {
  const SourceScope place(t0.where(), "odeint_end");
  const KeptFlatFunction flat = api_detail::flat_slope("odeint_end", f, y0);
  const Arrays made = api_detail::odeint_end_flat(flat, tree::leaves(y0), t0.array(), t1.array(), {}, options,
                                                  [&] { return tree::paths(y0); });
  const std::size_t n = made.size() - 2;
  return {tree::with_leaves(y0, std::span(made).first(n)), made[n], made[n + 1]};
}

}  // namespace tenon
