// BFGS and L-BFGS on vectors, into which trees are made.
#include "tenon/api/minimize.h"

#include <fmt/format.h>

#include "tenon/api/linalg.h"
#include "tenon/api/line_search.h"
#include "tenon/api/linear_solvers.h"
#include "tenon/api/loops.h"
#include "tenon/api/raveling.h"
#include "tenon/api/tangents.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/linear_algebra/dot.h"

namespace tenon::api_detail {
namespace {

using optim::MinimizeMethod;
using optim::MinimizeOptions;

Array count(std::int64_t n) { return Array(Scalar(static_cast<std::int32_t>(n))); }
Array holds(bool b) { return Array(Scalar(b)); }

// What both methods have of a place, and what has happened on the way to it.
struct Progress {
  Array x, fun, jac, evaluations, steps, converged, failed, status;

  Array goes_on(const Array& maxiter) const { return (!converged) & (!failed) & (steps < maxiter); }
  FlatMinimum minimum(const Array& hess_inv) const {
    const Array none = (steps == 0) & (!converged);  // maxiter is 0
    return {{x}, {jac}, converged, where(none, count(1), status), fun, hess_inv, evaluations, evaluations, steps};
  }
};

struct Problem {
  const Slope& f;
  const MinimizeOptions& options;
  DType dtype;
  Array gtol, ftol, maxiter;
  std::int64_t line_search_maxiter;

  Array small(const Array& gradient) const {
    if (gradient.dim(0).try_value() == 0) return holds(true);
    return linalg::vector_norm(gradient, options.norm) < gtol;
  }
  Progress start(const Array& x) const {
    const ValueAndSlope at = f(x);
    return {x, at.value, at.gradient, count(1), count(0), small(at.gradient), holds(false), count(0)};
  }
};

// 1 where the last step's decrease tells no better (Nocedal and Wright, 3.60).
Array first_step(const Array& fun, const Array& before, const Array& slope) {
  const Array guess = 2.02 * (fun - before) / slope;
  return where((guess > 0) & (guess <= 1), guess, ones_like(guess));
}

struct Bfgs {
  Progress at;
  Array before, inverse;
};

// H with one step s more, along which the gradient has changed by y: (I - ρsyᵀ)·H·(I - ρysᵀ) + ρssᵀ with ρ = 1/yᵀs. One
// factor after the other: what cancels in both is as small as the product of the two then, as multiplied out it is not.
Array updated_inverse(const Array& h, const Array& s, const Array& y) {
  const Array rho = 1 / dot(y, s);
  const auto column = [](const Array& v) { return expand_dims(v, 1); };
  const Array left = h - column(rho * s) * matmul(h, y);
  return where(is_finite(rho), left + column(rho * (s - matmul(left, y))) * s, h);
}

FlatMinimum by_bfgs(const Problem& problem, const Array& x0) {
  const auto step = [&](const Bfgs& b) {
    const Array p = -matmul(b.inverse, b.at.jac), slope = dot(b.at.jac, p);
    const LineSearch found = line_search(problem.f, {b.at.x, b.at.fun, b.at.jac, p, slope},
                                         first_step(b.at.fun, b.before, slope), problem.line_search_maxiter);
    const Array s = found.length * p, converged = problem.small(found.gradient);
    const Array steps = b.at.steps + 1, failed = (found.status != 0) & !converged;
    const Array status =
        where(converged, count(0), where(failed, found.status, where(steps >= problem.maxiter, count(1), count(-1))));
    return Bfgs{{b.at.x + s, found.value, found.gradient, b.at.evaluations + found.evaluations, steps, converged,
                 failed, status},
                b.at.fun,
                updated_inverse(b.inverse, s, found.gradient - b.at.jac)};
  };
  const auto unfinished = [&](const Bfgs& b) { return b.at.goes_on(problem.maxiter); };
  const Progress start = problem.start(x0);
  const Bfgs end = while_loop(
      unfinished, step, Bfgs{start, start.fun + sqrt(sum(start.jac * start.jac)) / 2, eye(x0.dim(0), problem.dtype)});
  return end.at.minimum(end.inverse);
}

// The last steps and changes of the gradient, [history, n] each, in a ring; 1/yᵀs of each, 0 where there is none yet.
struct History {
  Array steps, changes, inverses, scale;
};
struct Lbfgs {
  Progress at;
  History history;
};

Array with_entry(const Array& ring, const Array& i, const Array& entry) {
  std::vector<Array> start{i};
  if (ring.rank() > 1) start.push_back(zeros_like(i));
  return dynamic_update_slice(ring, expand_dims(entry, 0), start);
}

// The estimate of the inverse Hessian times -gradient (Nocedal and Wright, 7.4).
Array two_loops(const History& h, const Array& gradient, const Array& steps, std::int64_t size) {
  const auto place = [&](const Array& back) { return (steps - 1 - back + 2 * count(size)) % count(size); };
  struct Down {
    Array q, weights;
  };
  const Down down = fori_loop(
      0, size,
      [&](const Array& j, const Down& at) {
        const Array i = place(j), weight = row_at(h.inverses, i) * dot(row_at(h.steps, i), at.q);
        return Down{at.q - weight * row_at(h.changes, i), with_entry(at.weights, i, weight)};
      },
      Down{-gradient, zeros_like(h.inverses)});
  return fori_loop(
      0, size,
      [&](const Array& j, const Array& q) {
        const Array i = place(size - 1 - j), weight = row_at(h.inverses, i) * dot(row_at(h.changes, i), q);
        return q + (row_at(down.weights, i) - weight) * row_at(h.steps, i);
      },
      h.scale * down.q);
}

FlatMinimum by_lbfgs(const Problem& problem, const Array& x0) {
  const std::int64_t size = problem.options.history;
  const auto limit = [&](const std::optional<std::int64_t>& most, const Array& have) {
    return most ? have >= count(std::min<std::int64_t>(*most, std::numeric_limits<std::int32_t>::max())) : holds(false);
  };
  const auto step = [&](const Lbfgs& l) {
    const Array p = two_loops(l.history, l.at.jac, l.at.steps, size), slope = dot(l.at.jac, p);
    // The first direction is as long as the gradient, which tells no length.
    const Array first = where((l.at.steps == 0) & (slope < -1), 1 / sqrt(-slope), 1);
    const LineSearch found =
        line_search(problem.f, {l.at.x, l.at.fun, l.at.jac, p, slope}, first, problem.line_search_maxiter);
    const Array s = found.length * p, y = found.gradient - l.at.jac, ys = dot(y, s), steps = l.at.steps + 1;
    const Array inverse = where(ys == 0, zeros_like(ys), 1 / ys), yy = dot(y, y);
    const Array evaluations = l.at.evaluations + found.evaluations, converged = problem.small(found.gradient);
    Array status = where(l.at.fun - found.value < problem.ftol, count(4), count(0));
    status = where(limit(problem.options.maxgrad, evaluations), count(3), status);
    status = where(limit(problem.options.maxfun, evaluations), count(2), status);
    status = where(steps >= problem.maxiter, count(1), status);
    status = where(found.status == 0, status, count(5));
    status = where(converged, count(0), status);
    const Array i = l.at.steps % count(size);
    return Lbfgs{{l.at.x + s, found.value, found.gradient, evaluations, steps, converged, status != 0, status},
                 {with_entry(l.history.steps, i, s), with_entry(l.history.changes, i, y),
                  with_entry(l.history.inverses, i, inverse), where((ys > 0) & (yy > 0), ys / yy, l.history.scale)}};
  };
  const auto unfinished = [&](const Lbfgs& l) { return l.at.goes_on(problem.maxiter); };
  const Array ring = zeros({size, x0.dim(0)}, problem.dtype);
  const Progress start = problem.start(x0);
  const Lbfgs end =
      while_loop(unfinished, step, Lbfgs{start, {ring, ring, zeros({size}, problem.dtype), ones_like(start.fun)}});
  return end.at.minimum({});
}

FlatMinimum by_method(const Problem& problem, const Array& x0) {
  return problem.options.method == MinimizeMethod::bfgs ? by_bfgs(problem, x0) : by_lbfgs(problem, x0);
}

// With the derivatives of the place where the gradient is zero, if any are taken here: what is searched is not
// differentiated. Each solves a system with the Hessian there, which is symmetric.
FlatMinimum found_from(const Problem& problem, const KeptFlatFunction& f, const Array& x0) {
  if (!tracing() || Scope::ahead_here().derivatives == 0) return by_method(problem, x0);
  const bool f64 = problem.dtype == DType::f64;
  const auto names = [] { return std::vector<std::string>{""}; };
  const auto equation = [&](std::span<const Array> x) { return Arrays{problem.f(x[0]).gradient}; };
  const auto solve = [&](const KeptFlatFunction&, std::span<const Array> start) {
    const FlatMinimum m = by_method(problem, start[0]);
    Arrays all{m.x[0], m.jac[0], m.success, m.status, m.nfev, m.njev, m.nit};
    if (!m.hess_inv.empty()) all.push_back(m.hess_inv);
    return all;
  };
  const auto along = [&](const KeptFlatFunction& hessian, std::span<const Array> right) {
    return iterative_solve_flat(IterativeMethod::cg, hessian, right, {.tol = f64 ? 1e-12 : 1e-6}, names);
  };
  const Arrays m = custom_root_flat(equation, Arrays{stop_gradient(x0)}, solve, along, names);
  const Array fun = convert(f(m)[0], problem.dtype).with_weak(false);
  return {{m[0]}, {m[1]}, m[2], m[3], fun, m.size() > 7 ? m[7] : Array(), m[4], m[5], m[6]};
}

void require_minimize_option(bool holds, std::string_view what, std::string_view advice) {
  if (!holds) throw ShapeError(fmt::format("minimize: {}.", what), advice);
}
void check_options(const MinimizeOptions& o) {
  require_minimize_option(!o.maxiter || *o.maxiter >= 0, "`maxiter` is negative", "Give a number of steps from 0 on.");
  require_minimize_option(!o.line_search_maxiter || *o.line_search_maxiter >= 1, "`line_search_maxiter` is less than 1",
                          "Give a number of values from 1 on.");
  require_minimize_option(o.history >= 1, "`history` is less than 1", "Keep at least one step.");
  require_minimize_option(o.norm >= 1, "`norm` is less than 1", "Give an order from 1 on, or infinity.");
  for (const Array* a : {&o.gtol, &o.ftol})
    require_minimize_option(a->type().is_array() && a->rank() == 0, "a tolerance is not one number",
                            "Give one real number.");
}

}  // namespace

FlatMinimum minimize_flat(const KeptFlatFunction& f, std::span<const Array> start, const MinimizeOptions& options,
                          LeafPaths paths) {
  check_options(options);
  const Arrays begin = inexact(start);
  const Raveling ravel("minimize", "x0", begin, paths);
  const bool complex = is_complex(ravel.dtype());
  const DType dtype = real_part_of(ravel.dtype());
  // Of complex numbers the variables are the real parts, then the imaginary ones; gradients are as grad() has them.
  const auto variables = [&](const Arrays& leaves) {
    const Array v = ravel.vector(leaves);
    return complex ? concatenate(Arrays{real(v), imag(v)}, 0) : v;
  };
  const auto leaves_of = [&](const Array& v, bool conjugate) {
    if (!complex) return ravel.leaves(v);
    const Array im = slice_in_dim(v, ravel.size(), 2 * ravel.size(), 0);
    return ravel.leaves(tenon::complex(slice_in_dim(v, 0, ravel.size(), 0), conjugate ? -im : im));
  };
  const auto of_vector = [&](std::span<const Array> v) {
    const Arrays made = f(leaves_of(v[0], false));
    const Type t = made.size() == 1 ? made[0].type() : Type();
    if (made.size() != 1)
      throw TreeError(fmt::format("minimize: the function returns {} arrays, not one number.", made.size()),
                      "Return one real number.");
    if (!t.is_array() || t.rank() != 0)
      throw ShapeError(fmt::format("minimize: the function returns {}, not one number.", t.text()),
                       "Reduce it with sum() or mean().");
    if (!is_real(t.dtype))
      throw DTypeError(fmt::format("minimize: the function returns {}, not a real number.", t.text()),
                       "Return one real number.");
    return made;
  };
  const std::vector<std::string> argument{"<0>"};
  const Slope slope = [&](const Array& x) {
    const FlatGradient g = gradient_flat("minimize", of_vector, {{x}, {true}, [&] { return argument; }});
    return ValueAndSlope{convert(g.outputs[0], dtype).with_weak(false), g.gradient[0].with_weak(false)};
  };
  const Array most =
      options.maxiter ? Array(Scalar(*options.maxiter)) : convert(size_as_array(200 * ravel.size()), DType::i64);
  const bool bfgs = options.method == MinimizeMethod::bfgs;
  const Problem problem{
      slope,
      options,
      dtype,
      convert(options.gtol, dtype).with_weak(false),
      convert(options.ftol, dtype).with_weak(false),
      convert(min(most, Array(Scalar(std::int64_t(std::numeric_limits<std::int32_t>::max())))), DType::i32),
      options.line_search_maxiter.value_or(bfgs ? 10 : 20)};
  FlatMinimum found = found_from(problem, of_vector, variables(begin));
  found.x = leaves_of(found.x[0], false), found.jac = leaves_of(found.jac[0], true);
  return found;
}

}  // namespace tenon::api_detail
