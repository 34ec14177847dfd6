// The pair of Dormand and Prince on vectors, into which trees are made; its adjoint as a rule of its own.
#include "tenon/api/odeint.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tenon/api/custom.h"
#include "tenon/api/loops.h"
#include "tenon/api/raveling.h"
#include "tenon/api/special/function.h"
#include "tenon/api/tangents.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/promotion.h"

namespace tenon::api_detail {
namespace {

// dy/dt of vectors; what has derivatives beside y and t are the arguments.
using Field = std::function<Array(const Array& y, const Array& t, std::span<const Array> args)>;
using Slopes = std::function<Array(const Array& y, const Array& t)>;

struct Solver {
  OdeOptions options;
  DType time;  // of t; y may be of another

  Array number(double x) const { return Array(Scalar(x).convert(time)); }
  // The shortest step that moves t.
  Array shortest(const Array& t) const { return 4 * special::epsilon_of(time) * abs(t); }
  Array limited(const Array& h) const { return std::isinf(options.hmax) ? h : min(h, number(options.hmax)); }
  Array within(const Array& steps) const {
    return options.mxstep ? steps < Array(Scalar(*options.mxstep)) : Array(Scalar(true));
  }
  // In the real dtype of time.
  Array square_mean(const Array& x) const {
    return convert(sum(squared_modulus(x)), time) / convert(max(size_as_array(x.dim(0)), 1), time);
  }
  Array scale(const Array& a, const Array& b) const { return options.atol + options.rtol * max(abs(a), abs(b)); }
};

Array of_dtype(const Array& number, const Array& like) { return convert(number, like.dtype()); }

// A first step, from how fast y and its slope change (Hairer, Norsett and Wanner, II.4).
Array starting_step(const Solver& s, const Slopes& f, const Array& t, const Array& y, const Array& slope) {
  const Array scale = s.scale(y, y);
  const auto size = [&](const Array& x) { return sqrt(s.square_mean(x / scale)); };
  const Array of_y = size(y), of_slope = size(slope);
  const Array few = (of_y < 1e-5) | (of_slope < 1e-5);
  const Array h = where(few, s.number(1e-6), 0.01 * of_y / where(few, ones_like(of_slope), of_slope));
  const Array next = f(y + of_dtype(h, y) * slope, t + h), of_change = size(next - slope) / h;
  const Array most = max(of_slope, of_change);
  const Array by_change = where(most <= 1e-15, max(s.number(1e-6), 1e-3 * h), pow(0.01 / most, s.number(0.2)));
  return s.limited(min(100 * h, by_change));
}

struct Tried {
  Array y, slope, middle, error;  // middle: y halfway; error: at most 1 where the step counts
};

// Weights of the slopes as sums; those that are 0 are left out.
Array weighted(std::span<const double> weights, std::span<const Array> slopes) {
  std::optional<Array> total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const Array part = weights[i] * slopes[i];
    total = total ? *total + part : part;
  }
  return *total;
}

// Dormand and Prince (1980); the weights of the middle: Shampine (1986).
Tried runge_kutta(const Solver& s, const Slopes& f, const Array& t, const Array& y, const Array& slope,
                  const Array& h) {
  static constexpr std::array<double, 6> places{1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
  static constexpr std::array<std::array<double, 6>, 6> stages{
      {{1. / 5},
       {3. / 40, 9. / 40},
       {44. / 45, -56. / 15, 32. / 9},
       {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
       {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
       {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}}};
  static constexpr std::array<double, 7> between{71. / 57600,      0,         -71. / 16695, 71. / 1920,
                                                 -17253. / 339200, 22. / 525, -1. / 40};  // order 5 less order 4
  static constexpr std::array<double, 7> middle{6025192743. / 30085553152 / 2,     0,
                                                51252292925. / 65400821598 / 2,    -2691868925. / 45128329728 / 2,
                                                187940372067. / 1594534317056 / 2, -1776094331. / 19743644256 / 2,
                                                11237099. / 235043384 / 2};
  const Array by = of_dtype(h, y);
  std::vector<Array> slopes{slope};
  Array next;
  for (std::size_t stage = 0; stage < 6; ++stage) {
    next = y + by * weighted(std::span(stages[stage]).first(stage + 1), slopes);
    slopes.push_back(f(next, t + places[stage] * h));
  }
  const Array error = by * weighted(between, slopes) / s.scale(y, next);
  return {next, slopes.back(), y + by * weighted(middle, slopes), sqrt(s.square_mean(error))};
}

// How much longer the next step is: not longer than 10 times, nor shorter than a fifth; NaN counts as too long.
Array growth(const Solver& s, const Array& error) {
  const Array least = where(error < 1, s.number(1), s.number(0.2));
  const Array wanted = 0.9 * pow(error, s.number(-0.2));
  return where(error == 0, s.number(10), where(wanted >= least, min(wanted, s.number(10)), least));
}

// The polynomial of order 4 through both ends, with their slopes, and the middle; x in [0, 1].
Array read_off(const Array& y0, const Array& y1, const Array& middle, const Array& d0, const Array& d1,
               const Array& x) {
  const Array a = 2 * (d1 - d0) - 8 * (y0 + y1) + 16 * middle, b = 5 * d0 - 3 * d1 + 18 * y0 + 14 * y1 - 32 * middle;
  const Array c = d1 - 4 * d0 - 11 * y0 - 5 * y1 + 16 * middle;
  return (((a * x + b) * x + c) * x + d0) * x + y0;
}

// The last step that counted, from `before` to t; how long the next one is; whether one was found short enough.
struct Stepping {
  Array before, y_before, slope_before, middle, t, y, slope, step, steps, found;
};

Array solve_forwards(const Solver& s, const Slopes& f, const Array& y0, const Array& ts) {
  const auto advance = [&](const Stepping& at) {
    const Array least = s.shortest(at.t), h = stop_gradient(max(at.step, least));
    const Tried tried = runge_kutta(s, f, at.t, at.y, at.slope, h);
    const Array good = tried.error <= 1;
    const auto if_good = [&](const Array& next, const Array& old) { return where(good, next, old); };
    return Stepping{if_good(at.t, at.before),
                    if_good(at.y, at.y_before),
                    if_good(at.slope, at.slope_before),
                    if_good(tried.middle, at.middle),
                    if_good(at.t + h, at.t),
                    if_good(tried.y, at.y),
                    if_good(tried.slope, at.slope),
                    stop_gradient(s.limited(h * growth(s, tried.error))),
                    at.steps + 1,
                    good | (h > least)};
  };
  const auto until = [&](const Stepping& start, const Array& target) {
    Stepping begin = start;
    begin.steps = Array(Scalar(std::int64_t(0)));
    const Stepping end = while_loop(
        [&](const Stepping& at) { return (at.t < target) & at.found & s.within(at.steps) & is_finite(target); },
        advance, begin);
    const Array h = end.t - end.before, by = of_dtype(h, end.y);
    const Array x = of_dtype(where(h == 0, h, (target - end.before) / where(h == 0, ones_like(h), h)), end.y);
    const Array y = read_off(end.y_before, end.y, end.middle, by * end.slope_before, by * end.slope, x);
    const Array reached = (end.t >= target) & (target >= end.before);
    return std::pair(end, where(reached, y, Array(Scalar(std::nan("")).convert(y.dtype()))));
  };
  // Derivatives of the steps do not flow through the choice of their lengths: they are those of the solution.
  const Array t0 = ts(0), slope = f(y0, t0);
  const Stepping start{.before = t0,
                       .y_before = y0,
                       .slope_before = slope,
                       .middle = y0,
                       .t = t0,
                       .y = y0,
                       .slope = slope,
                       .step = stop_gradient(starting_step(s, f, t0, y0, slope)),
                       .steps = Array(Scalar(std::int64_t(0))),
                       .found = Array(Scalar(true))};
  const Array later = scan(until, start, ts(slice(1, {}))).second;
  return concatenate(Arrays{expand_dims(y0, 0), later}, 0);
}

// One interval whose end is the last step's; how long the next step would be; how many steps counted, and were tried.
struct Interval {
  Array y, step, accepted, steps;
};
Interval solve_interval(const Solver& s, const Slopes& f, const Array& y0, const Array& from, const Array& to,
                        const Array& first) {
  struct State {
    Array t, y, slope, step, accepted, steps, found;
  };
  const auto advance = [&](const State& at) {
    const Array least = s.shortest(at.t), wanted = stop_gradient(max(at.step, least)), rest = to - at.t;
    const Array last = wanted >= rest, h = where(last, rest, wanted);
    const Tried tried = runge_kutta(s, f, at.t, at.y, at.slope, h);
    const Array good = tried.error <= 1, longer = stop_gradient(h * growth(s, tried.error));
    const auto if_good = [&](const Array& next, const Array& old) { return where(good, next, old); };
    // A step that was cut short to end there tells less of the next one than the one before.
    return State{if_good(where(last, to, at.t + h), at.t),
                 if_good(tried.y, at.y),
                 if_good(tried.slope, at.slope),
                 s.limited(where(last & good, max(longer, at.step), longer)),
                 at.accepted + convert(good, DType::i64),
                 at.steps + 1,
                 good | (h > least)};
  };
  const Array slope = f(y0, from);
  const Array step = stop_gradient(where(first > 0, first, starting_step(s, f, from, y0, slope)));
  const Array none(Scalar(std::int64_t(0)));
  const State end = while_loop([&](const State& at) { return (at.t < to) & at.found & s.within(at.steps); }, advance,
                               State{from, y0, slope, step, none, none, Array(Scalar(true))});
  const Array nan(Scalar(std::nan("")).convert(end.y.dtype()));
  return {where(end.t >= to, end.y, nan), end.step, end.accepted, end.steps};
}

// --- the adjoint ---

// Cotangents of arguments, where they have any.
struct Adjoint {
  Field field;       // of (y, λ, cotangents of arguments) in -t
  Raveling parts;    // of those three, in one vector
  Raveling of_args;  // those that have tangents
  std::vector<bool> active;
};

Arrays chosen(std::span<const Array> all, const std::vector<bool>& mask) {
  Arrays some;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (mask[i]) some.push_back(all[i]);
  return some;
}

// d/d(-t) of y, of λ and of the arguments' cotangents: -f, λ·∂f/∂y, λ·∂f/∂a.
Adjoint adjoint_of(const Field& f, const Array& y, std::span<const Array> args) {
  std::vector<bool> active;
  for (const Array& a : args) active.push_back(a.type().is_array() && is_differentiable(a.dtype()));
  const auto no_paths = [&] { return std::vector<std::string>(args.size() + 3); };  // all have derivatives
  const Raveling of_args("odeint", "an argument", chosen(args, active), no_paths);
  const Array none = zeros({of_args.size()}, of_args.dtype());
  const Raveling parts("odeint", "y0", Arrays{y, y, none}, no_paths);
  const Field field = [=](const Array& state, const Array& s, std::span<const Array> given) {
    const Arrays at = parts.leaves(state);
    std::vector<bool> mask(1, true);
    mask.insert(mask.end(), active.begin(), active.end());
    const auto slope = [&](std::span<const Array> in) { return Arrays{f(in[0], -s, in.subspan(1))}; };
    std::vector<std::string> names(mask.size());
    const Arrays operands = joined({Arrays{at[0]}, given});
    const FlatLinear pulled = vjp_flat(slope, {operands, mask, [&] { return names; }});
    const Arrays back = pulled.apply(Arrays{at[1]});
    return parts.vector(
        Arrays{-pulled.outputs[0], back[0], of_args.vector(chosen(std::span(back).subspan(1), active))});
  };
  return {field, parts, of_args, active};
}

Array product(const Array& a, const Array& b, DType time) { return convert(real(sum(a * b)), time); }

Interval interval_with_adjoint(const Solver& s, const Field& f, const Array& y0, const Array& from, const Array& to,
                               const Array& first, std::span<const Array> args);

// Cotangents of y0, from, to and the arguments, of an interval that ended at y with the cotangent λ.
struct PulledBack {
  Array y, from, step;
  Arrays args;
};
// `so_far`: the arguments' cotangents of what came behind.
PulledBack pull_back(const Solver& s, const Field& f, const Adjoint& adjoint, const Array& y, const Array& lambda,
                     const Array& so_far, const Array& from, const Array& to, const Array& first,
                     std::span<const Array> args) {
  const Array state = adjoint.parts.vector(Arrays{y, lambda, so_far});
  const Interval end = interval_with_adjoint(s, adjoint.field, state, -to, -from, first, args);
  const Arrays at = adjoint.parts.leaves(end.y);
  return {at[1], -product(at[1], f(at[0], from, args), s.time), end.step, {at[2]}};
}

Arrays all_cotangents(const Adjoint& adjoint, const Array& vector) {
  Arrays some = adjoint.of_args.leaves(vector), all;
  std::size_t k = 0;
  for (const bool active : adjoint.active) all.push_back(active ? some[k++] : Array());
  return all;
}

// run(arguments), whose derivative is `backward` of its first result, of the arguments but the first, and of
// cotangents.
Arrays with_backward(FlatFunction run, FlatFunction backward, const Arrays& arguments) {
  if (!tracing()) return run(arguments);
  const auto forward = [&](std::span<const Array> in) {
    Arrays out = run(in);
    out.push_back(out[0]);
    out.insert(out.end(), in.begin() + 1, in.end());
    return out;
  };
  return custom_vjp_flat(run, forward, backward, arguments,
                         [&] { return std::vector<std::string>(arguments.size(), "<0>"); });
}

Interval interval_with_adjoint(const Solver& s, const Field& f, const Array& y0, const Array& from, const Array& to,
                               const Array& first, std::span<const Array> args) {
  const auto run = [&](std::span<const Array> in) {
    const auto slope = [&](const Array& y, const Array& t) { return f(y, t, in.subspan(4)); };
    const Interval end = solve_interval(s, slope, in[0], in[1], in[2], in[3]);
    return Arrays{end.y, end.step, end.accepted, end.steps};
  };
  const auto backward = [&](std::span<const Array> in) {
    const Array y = in[0], begin = in[1], end = in[2], lambda = in[in.size() - 4];
    const std::span<const Array> given = in.subspan(4, in.size() - 8);
    const Adjoint adjoint = adjoint_of(f, y, given);
    const Array none = zeros({adjoint.of_args.size()}, adjoint.of_args.dtype());
    const PulledBack at = pull_back(s, f, adjoint, y, lambda, none, begin, end, zeros_like(begin), given);
    Arrays out{at.y, at.from, product(lambda, f(y, end, given), s.time), zeros_like(begin)};
    for (const Array& a : all_cotangents(adjoint, at.args[0])) out.push_back(a);
    return out;
  };
  const Arrays made = with_backward(run, backward, joined({Arrays{y0, from, to, first}, args}));
  return {made[0], made[1], made[2], made[3]};
}

// y at all times from the last one back; t: [n].
Arrays pull_back_all(const Solver& s, const Field& f, const Array& ys, const Array& ts, const Array& cotangents,
                     std::span<const Array> args) {
  struct State {
    Array lambda, of_args, of_start, step;
  };
  const Array last = ys(-1);
  const Adjoint adjoint = adjoint_of(f, last, args);
  const auto back = [&](const State& at, const std::array<Array, 5>& here) {
    const auto& [y, ct, from, to, before] = here;
    const Array of_end = product(ct, f(y, to, args), s.time);
    const PulledBack pulled = pull_back(s, f, adjoint, y, at.lambda, at.of_args, from, to, at.step, args);
    return std::pair(State{pulled.y + before, pulled.args[0], pulled.from, stop_gradient(pulled.step)}, of_end);
  };
  const State start{cotangents(-1), zeros({adjoint.of_args.size()}, adjoint.of_args.dtype()), zeros_like(ts(0)),
                    zeros_like(ts(0))};
  const auto but_first = [](const Array& x) { return x(slice(1, {})); };
  const auto but_last = [](const Array& x) { return x(slice(0, -1)); };
  const auto [end, of_ends] = scan(
      back, start,
      std::array<Array, 5>{but_first(ys), but_first(cotangents), but_last(ts), but_first(ts), but_last(cotangents)},
      {.reverse = true});
  Arrays out{end.lambda, concatenate(Arrays{expand_dims(end.of_start, 0), of_ends}, 0)};
  for (const Array& a : all_cotangents(adjoint, end.of_args)) out.push_back(a);
  return out;
}

Array solve_with_adjoint(const Solver& s, const Field& f, const Array& y0, const Array& ts,
                         std::span<const Array> args) {
  const auto run = [&](std::span<const Array> in) {
    const auto slope = [&](const Array& y, const Array& t) { return f(y, t, in.subspan(2)); };
    return Arrays{solve_forwards(s, slope, in[0], in[1])};
  };
  const auto backward = [&](std::span<const Array> in) {
    return pull_back_all(s, f, in[0], in[1], in.back(), in.subspan(2, in.size() - 3));
  };
  const Arrays arguments = joined({Arrays{y0, ts}, args});
  return s.options.adjoint ? with_backward(run, backward, arguments)[0] : run(arguments)[0];
}

void require_ode_option(std::string_view name, bool holds, std::string_view what, std::string_view advice) {
  if (!holds) throw ShapeError(fmt::format("{}: {}.", name, what), advice);
}
void require_real_time(std::string_view name, const Type& t) {
  if (!is_real(t.dtype))
    throw DTypeError(fmt::format("{}: t is {}, not real numbers.", name, t.text()), "Convert it to a floating dtype.");
}

// A problem on vectors: what solves it takes the first one, the field, and its arguments that have derivatives; what it
// gives is a vector, or a matrix of them, and what is no part of y.
using SolvedBy = FunctionRef<Arrays(const Solver&, const Field&, const Array& y0, const Arrays& args)>;
Arrays solve_on_vectors(std::string_view name, const KeptFlatFunction& f, std::span<const Array> given, DType time,
                        std::span<const Array> args, const OdeOptions& options, LeafPaths paths, SolvedBy solved) {
  require_ode_option(name, options.rtol >= 0 && options.atol >= 0 && options.rtol + options.atol > 0,
                     "tolerances are negative, or both are 0", "Give positive ones.");
  require_ode_option(name, options.hmax > 0, "`hmax` is not positive", "Give the longest step, or infinity.");
  require_ode_option(name, !options.mxstep || *options.mxstep >= 1, "`mxstep` is less than 1",
                     "Give a number of steps.");
  const Arrays y0 = inexact(given);
  const Raveling ravel(name, "y0", y0, paths);
  std::vector<Type> types = ravel.types();
  types.push_back(Type::array(time, {}));
  for (const Array& a : args) types.push_back(a.type());
  const auto checked = [&](std::span<const Array> in) {
    return Arrays{ravel.vector_of_result(name, "what f returns", f(in), paths)};
  };
  const TracedFunction traced = traced_for_rule(checked, types);
  // What has derivatives, among arguments and captures, is an argument of the rule; the rest stays where it is.
  const Arrays all = joined({args, traced.captures});
  std::vector<bool> moves;
  for (const Array& a : all) moves.push_back(Scope::takes_part(a).derivatives != 0);
  const Field field = [&](const Array& y, const Array& at, std::span<const Array> moved) {
    Arrays in = ravel.leaves(y);
    in.push_back(at);
    std::size_t k = 0;
    for (std::size_t i = 0; i < all.size(); ++i) in.push_back(moves[i] ? moved[k++] : all[i]);
    return run_or_call(traced.program, traced.sizes, in)[0];
  };
  Arrays moved = chosen(all, moves);
  for (Array& a : moved) a = a.with_weak(false);
  const Arrays made = solved(Solver{options, time}, field, ravel.vector(y0), moved);
  return joined({ravel.leaves(made[0]), std::span(made).subspan(1)});
}

}  // namespace

Arrays odeint_flat(const KeptFlatFunction& f, std::span<const Array> given, const Array& t, std::span<const Array> args,
                   const OdeOptions& options, LeafPaths paths) {
  const Type type = t.type();
  if (!type.is_array() || type.rank() != 1 || type.shape[0] == Dim(0))
    throw ShapeError(fmt::format("odeint: t is {}, not a vector of times.", type.text()),
                     "Give [n] times, of which the first is that of y0.");
  require_real_time("odeint", type);
  const Array ts = widened(t).with_weak(false);
  return solve_on_vectors("odeint", f, given, ts.dtype(), args, options, paths,
                          [&](const Solver& s, const Field& field, const Array& y0, const Arrays& moved) {
                            return Arrays{solve_with_adjoint(s, field, y0, ts, moved)};
                          });
}

Arrays odeint_end_flat(const KeptFlatFunction& f, std::span<const Array> given, const Array& t0, const Array& t1,
                       std::span<const Array> args, const OdeOptions& options, LeafPaths paths) {
  for (const Array& t : {t0, t1})
    if (t.rank() != 0)
      throw ShapeError(fmt::format("odeint_end: a time is {}, not a number.", t.type().text()),
                       "Of many times ask odeint().");
  // Times that are numbers of the program's own text are of y's precision.
  Arrays times = in_one_dtype(Arrays{t0, t1}).operands;
  if (t0.weak() && t1.weak() && !given.empty())
    for (Array& t : times) t = convert(t, real_part_of(to_inexact(given.front()).dtype()));
  require_real_time("odeint_end", times[0].type());
  const Array from = widened(times[0]).with_weak(false), to = widened(times[1]).with_weak(false);
  const auto solved = [&](const Solver& s, const Field& field, const Array& y0, const Arrays& moved) {
    const auto slope = [&](const Array& y, const Array& t) { return field(y, t, moved); };
    const Array first = zeros_like(from);
    const Interval end = options.adjoint ? interval_with_adjoint(s, field, y0, from, to, first, moved)
                                         : solve_interval(s, slope, y0, from, to, first);
    const Array nan(Scalar(std::nan("")).convert(end.y.dtype()));
    return Arrays{where(to >= from, end.y, nan), end.accepted, end.steps - end.accepted};
  };
  return solve_on_vectors("odeint_end", f, given, from.dtype(), args, options, paths, solved);
}

}  // namespace tenon::api_detail
