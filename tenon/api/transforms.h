// grad, value_and_grad, jvp, vjp, jacfwd, jacrev, hessian, hvp, vmap: of ordinary functions on trees, in any order and
// nesting.
#pragma once

#include "tenon/api/flatten.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/shape.h"

namespace tenon {

namespace api_detail {

// Leaves of argument number `argnum` among all leaves.
template <class... Args>
std::pair<std::size_t, std::size_t> leaf_range(std::size_t argnum, const Args&... args) {
  const std::array<std::size_t, sizeof...(Args)> counts{tree::leaves(args).size()...};
  if (argnum >= counts.size()) throw TreeError("grad: there is no argument of that number.");
  std::size_t start = 0;
  for (std::size_t i = 0; i < argnum; ++i) start += counts[i];
  return {start, start + counts[argnum]};
}

// The first output is one real number; what comes behind it is auxiliary.
void require_one_scalar(std::span<const Type> outputs, std::string_view op);
// Traces at the arguments' types with axis 0 taken away where `batched` says so.
TracedFunction trace_lane(const FlatFunction& f, std::span<const Array> arguments, const std::vector<bool>& batched);

}  // namespace api_detail

// (value, gradient in the first argument): args -> std::pair<result, tree like the argument>. The function returns one
// real number, or a pair or tuple that starts with it; the rest is auxiliary and comes back in the result. Where its
// arguments are concrete it may use ordinary `if` and `while` on x.item(): no trace is kept.
template <std::size_t Argnum = 0, class F>
auto value_and_grad(F f, const Source& where = std::source_location::current()) {
  return [f, where]<class... Args>(const Args&... args) mutable {
    const SourceScope place(where);
    static_assert(Argnum < sizeof...(Args), "value_and_grad: there is no argument of that number");
    api_detail::Flattened<F, Args...> flat(f, args...);
    const TracedFunction traced = trace_flat(flat.function, flat.arguments, api_detail::all_concrete(flat.arguments));
    const auto [from, to] = api_detail::leaf_range(Argnum, args...);
    const auto& argument = std::get<Argnum>(std::tie(args...));
    std::vector<bool> active(flat.arguments.size(), false);
    const auto paths = tree::paths(argument);
    for (std::size_t i = from; i < to; ++i) {
      require_differentiable(flat.arguments[i], paths[i - from], "grad");
      active[i] = true;
    }
    const std::vector<Type> outs = traced.program->output_types();
    std::vector<bool> differentiated(outs.size(), false);
    api_detail::require_one_scalar(outs, "grad");
    differentiated[0] = true;
    const Pullback pullback = vjp_flat(traced, flat.arguments, active, differentiated);
    const Arrays gradient = pullback.pull(Arrays{ones_like(outs[0])});
    return std::pair(flat.rebuild(pullback.outputs), tree::with_leaves(argument, gradient));
  };
}

template <std::size_t Argnum = 0, class F>
auto grad(F f, const Source& where = std::source_location::current()) {
  return [g = value_and_grad<Argnum>(f, where)](const auto&... args) mutable { return g(args...).second; };
}

// (outputs, pull): pull maps a cotangent tree like the result to a tuple of cotangents like the arguments.
template <class F, class... Args>
auto vjp(F f, const Args&... args) {
  api_detail::Flattened<F, Args...> flat(f, args...);
  const TracedFunction traced = trace_flat(flat.function, flat.arguments);
  const std::vector<bool> active(flat.arguments.size(), true);
  for (const Array& a : flat.arguments) require_differentiable(a, "", "vjp");
  const Pullback pullback =
      vjp_flat(traced, flat.arguments, active, std::vector<bool>(traced.program->outputs().size(), true));
  auto result = flat.rebuild(pullback.outputs);
  auto pull = [pullback, arguments = std::tuple<Args...>(args...)](const decltype(result)& cotangents) {
    return tree::with_leaves(arguments, pullback.pull(tree::leaves(cotangents)));
  };
  return std::pair(std::move(result), std::move(pull));
}

// (outputs, tangents of the outputs) for primals and tangents given as tuples.
template <class F, class... Args>
auto jvp(F f, const std::tuple<Args...>& primals, const std::tuple<Args...>& tangents) {
  return std::apply(
      [&](const Args&... args) {
        api_detail::Flattened<F, Args...> flat(f, args...);
        const TracedFunction traced = trace_flat(flat.function, flat.arguments);
        const std::size_t outs = traced.program->outputs().size();
        const Arrays results = jvp_flat(traced, flat.arguments, tree::leaves(tangents),
                                        std::vector<bool>(flat.arguments.size(), true), std::vector<bool>(outs, true));
        return std::pair(flat.rebuild(std::span(results).first(outs)), flat.rebuild(std::span(results).subspan(outs)));
      },
      primals);
}

// How arguments of vmap are mapped: along which axis, or not at all.
inline constexpr std::optional<std::int64_t> none = std::nullopt;
struct VmapOptions {
  std::vector<std::optional<std::int64_t>> in_axes;  // one an argument; empty: axis 0 of each
  std::int64_t out_axis = 0;
};

template <class F>
auto vmap(F f, VmapOptions options = {}, const Source& where = std::source_location::current()) {
  return [f, options, where]<class... Args>(const Args&... args) mutable {
    const SourceScope place(where);
    const std::array<std::size_t, sizeof...(Args)> counts{tree::leaves(args).size()...};
    if (!options.in_axes.empty() && options.in_axes.size() != sizeof...(Args))
      throw ShapeError("vmap: in_axes does not name as many arguments as are given.",
                       "Give one axis, or tn::none, an argument.");
    Arrays operands = tree::leaves(std::tie(args...)), lane;
    std::vector<bool> batched;
    std::optional<Dim> size;
    std::size_t at = 0;
    for (std::size_t k = 0; k < counts.size(); ++k)
      for (std::size_t i = 0; i < counts[k]; ++i, ++at) {
        const auto axis = options.in_axes.empty() ? std::optional<std::int64_t>(0) : options.in_axes[k];
        batched.push_back(axis.has_value());
        if (!axis) continue;
        operands[at] = move_axis(operands[at], *axis, 0);
        const Dim here = operands[at].dim(0);
        if (size && *size != here)
          throw ShapeError("vmap: mapped axes differ in size: " + size->text() + " and " + here.text() + ".");
        size = here;
      }
    if (!size) throw ShapeError("vmap: no argument is mapped.", "At least one in_axes entry names an axis.");
    // Traced at the types of one lane.
    std::tuple<Args...> one(args...);
    auto result = std::make_shared<std::optional<std::remove_cvref_t<std::invoke_result_t<F&, const Args&...>>>>();
    const FlatFunction function = [&](std::span<const Array> in) {
      std::tuple<Args...> traced = one;
      tree::assign(traced, in);
      *result = std::apply(f, std::as_const(traced));
      return tree::leaves(**result);
    };
    const TracedFunction traced = api_detail::trace_lane(function, operands, batched);
    Arrays results = vmap_flat(traced, operands, batched, *size);
    for (Array& r : results) r = move_axis(r, 0, options.out_axis);
    return tree::with_leaves(**result, results);
  };
}

// The Jacobian of an array in the first argument, an array: shape (result's axes, argument's axes). Forward mode: one
// tangent an element of the argument.
template <class F>
auto jacfwd(F f, const Source& where = std::source_location::current()) {
  return [f, where](const Array& x, const auto&... rest) mutable {
    const SourceScope place(where);
    const Shape shape = x.shape();
    const Array basis = reshape(eye(shape.elements().value(), x.dtype()), shape.with_axis(0, shape.elements()));
    auto push = [&](const Array& dx) {
      auto only = [&](const Array& y) { return f(y, rest...); };
      return jvp(only, std::tuple<Array>(x), std::tuple<Array>(dx)).second;
    };
    const Array columns = vmap(push)(basis);  // [elements of x, result…]
    const Array last = move_axis(columns, 0, -1);
    Shape full = last.shape().without_axis(last.rank() - 1);
    for (const Dim& d : shape) full.push_back(d);
    return reshape(last, full);
  };
}

// The same by reverse mode: one cotangent an element of the result.
template <class F>
auto jacrev(F f, const Source& where = std::source_location::current()) {
  return [f, where](const Array& x, const auto&... rest) mutable {
    const SourceScope place(where);
    auto only = [&](const Array& y) { return f(y, rest...); };
    auto [y, pull] = vjp(only, x);
    const Shape shape = y.shape();
    const Array basis = reshape(eye(shape.elements().value(), y.dtype()), shape.with_axis(0, shape.elements()));
    auto row = [&pull = pull](const Array& ct) { return std::get<0>(pull(ct)); };
    const Array rows = vmap(row)(basis);
    Shape full = shape;
    const Shape columns = x.shape();
    for (const Dim& d : columns) full.push_back(d);
    return reshape(rows, full);
  };
}

template <class F>
auto hessian(F f, const Source& where = std::source_location::current()) {
  return jacfwd(jacrev(f, where), where);
}

// Hessian times a vector, without the Hessian: the tangent of the gradient.
template <class F>
auto hvp(F f, const Array& x, const Array& v) {
  return jvp(grad(f), std::tuple<Array>(x), std::tuple<Array>(v)).second;
}

}  // namespace tenon
