// jvp, vjp, linearize, hvp: products with derivatives; stop_gradient of trees.
#pragma once

#include "tenon/api/grad.h"
#include "tenon/ops/composites/indexing.h"

namespace tenon {

namespace api_detail {

// Forward mode of all arguments that have tangents: outputs, then their tangents (empty for those that have none).
Arrays jvp_flat(FlatFunction f, const Arguments& arguments, std::span<const Array> tangents);

// The outputs of f, and a linear function: of cotangents of the outputs, or of tangents of the arguments. Neither runs
// f again.
struct FlatLinear {
  Arrays outputs;
  KeptFlatFunction apply;
  // The same in two parts: what was kept, and a function of that (or of as much else of its types) and of the rest. It
  // holds no arrays, and is told apart from others by its number.
  Arrays residuals = {};
  std::function<Arrays(std::span<const Array> residuals, std::span<const Array> given)> apply_to = {};
  Hash128 form = {};
  // Of vjp: which leaf of the arguments each residual is, or no_argument.
  static constexpr std::size_t no_argument = ~std::size_t(0);
  std::vector<std::size_t> argument_of = {};
};
FlatLinear vjp_flat(FlatFunction f, const Arguments& arguments);
FlatLinear linearize_flat(FlatFunction f, const Arguments& arguments);

template <class T>
using Lifted = std::remove_cvref_t<decltype(lifted<true>(std::declval<const T&>()))>;
template <class Call, class... Args>
Arguments every_argument(const Call& call, const Args&... args) {
  Arguments arguments{call.arguments(), std::vector<bool>(call.arguments().size(), true), call.paths()};
  leave_out_sizes(std::tie(args...), arguments.chosen, 0);
  return arguments;
}

}  // namespace api_detail

// std::pair(f(primals…), its tangent, a tree like it): arguments and tangents are tuples. Integers and booleans have no
// tangent: what stands in their place is not read, and in the result it is an empty Array.
//   auto [y, dy] = tn::jvp(f, std::tuple(x), std::tuple(dx));
// Throws TreeError, ShapeError or DTypeError naming the argument where a tangent does not match it.
template <class F, class... Args, class... Tangents>
auto jvp(F f, const std::tuple<Args...>& primals, const std::tuple<Tangents...>& tangents,
         const Source& where = std::source_location::current()) {
  const SourceScope place(where, "jvp");
  static_assert(sizeof...(Args) == sizeof...(Tangents), "jvp: a tuple of arguments and one of as many tangents");
  return std::apply(
      [&](const auto&... args) {
        api_detail::Flattened<F, std::remove_cvref_t<decltype(args)>...> flat(f, args...);
        const std::tuple<api_detail::Lifted<Tangents>...> given(tangents);
        const Arrays both = api_detail::jvp_flat(flat, api_detail::every_argument(flat, args...), tree::leaves(given));
        const std::span<const Array> all(both);
        auto result = flat.rebuild(all);
        auto tangent = api_detail::with_sizes_of(result, flat.rebuild(all.subspan(all.size() / 2)));
        return std::pair(std::move(result), std::move(tangent));
      },
      std::tuple<api_detail::Lifted<Args>...>(primals));
}

// std::pair(f(args…), pull): pull maps a cotangent, a tree like the result, to a tuple of cotangents like the
// arguments; of integers and booleans they are empty Arrays. It can be called again; f is not run again.
//   auto [y, pull] = tn::vjp(f, x, w);   auto [dx, dw] = pull(tn::ones_like(y));
template <class F, class... Given>
auto vjp(F f, const Given&... given) {
  return [&]<class... Args>(const Args&... args) {
    api_detail::Flattened<F, Args...> flat(f, args...);
    auto linear = api_detail::vjp_flat(flat, api_detail::every_argument(flat, args...));
    auto result = flat.rebuild(linear.outputs);
    auto pull = [apply = linear.apply, arguments = std::tuple<Args...>(args...)](
                    const decltype(result)& cotangents, const Source& where = std::source_location::current()) {
      const SourceScope place(where, "vjp");
      return api_detail::with_sizes_of(arguments, tree::with_leaves(arguments, apply(tree::leaves(cotangents))));
    };
    return std::pair(std::move(result), std::move(pull));
  }(api_detail::lifted<true>(given)...);
}

// std::pair(f(args…), push): push maps tangents, trees like the arguments, to the tangent of the result. It can be
// called again; f is not run again.
//   auto [y, push] = tn::linearize(f, x);   auto dy = push(dx);
template <class F, class... Given>
auto linearize(F f, const Given&... given) {
  return [&]<class... Args>(const Args&... args) {
    api_detail::Flattened<F, Args...> flat(f, args...);
    auto linear = api_detail::linearize_flat(flat, api_detail::every_argument(flat, args...));
    auto result = flat.rebuild(linear.outputs);
    auto push = [apply = linear.apply, result](const Args&... tangents,
                                               const Source& where = std::source_location::current()) {
      const SourceScope place(where, "linearize");
      return api_detail::with_sizes_of(result, tree::with_leaves(result, apply(tree::leaves(std::tie(tangents...)))));
    };
    return std::pair(std::move(result), std::move(push));
  }(api_detail::lifted<true>(given)...);
}

// The Hessian of f in its first argument, a tree, times a tree like it; without the Hessian: the tangent of the
// gradient. Further arguments are constants.
//   Params h = tn::hvp(loss, params, direction, x, y);
template <class F, class T>
T hvp(F f, const T& x, const T& v, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "hvp");
  return jvp([&](const T& at) { return grad(std::ref(f))(at); }, std::tuple<T>(x), std::tuple<T>(v)).second;
}
template <class F, class T, class First, class... Rest>
  requires(!std::is_same_v<First, Source>)
T hvp(F f, const T& x, const T& v, const First& first, const Rest&... rest) {
  const auto of_first = [&](const T& at) { return f(at, first, rest...); };
  return hvp(of_first, x, v, Source());
}

// A tree of values through which no derivative flows.
//   tn::stop_gradient(std::pair(Array(1.f), Array(2.f)))   // 1, 2
template <class T>
  requires(!std::is_convertible_v<const T&, Operand>)
T stop_gradient(const T& values, const Source& where = std::source_location::current()) {
  const SourceScope place(where);
  return tree::map([](const Array& a) { return stop_gradient(a); }, values);
}

}  // namespace tenon
