// grad, value_and_grad: reverse mode of functions that return one real number.
#pragma once

#include "tenon/api/arguments.h"

namespace tenon {

namespace api_detail {

struct FlatGradient {
  Arrays outputs;
  Arrays gradient;  // one a leaf of all arguments, empty where it is not chosen
};
FlatGradient gradient_flat(std::string_view op, const FlatFunction& f, const Arguments& arguments);

template <class Result, bool Aux>
constexpr void check_loss() {
  if constexpr (Aux)
    static_assert(is_pair_of<Array, Result>,
                  "grad with has_aux: the function returns std::pair of one number, an Array, and what is auxiliary");
  else
    static_assert(std::is_same_v<Result, Array>,
                  "grad: the function returns one number, an Array; say tn::has_aux where it returns a std::pair of "
                  "that and auxiliary results");
}

template <bool Aux, int... Argnums, class F>
auto value_and_grad_of(std::string_view op, F f, const Source& where) {
  return [op, f = Held{std::move(f)}, where]<class... Given>(const Given&... given) {
    const SourceScope place(where);
    return with_lifted<Argnums...>(
        [&]<class... Args>(const Args&... args) {
          check_loss<ResultOf<F, Args...>, Aux>();
          Flattened<F, Args...> flat(f.f, args...);
          const FlatGradient g = gradient_flat(op, flat.function, Arguments::of<Argnums...>(flat.arguments, args...));
          return std::pair(flat.rebuild(g.outputs),
                           chosen_of<Argnums...>(tree::with_leaves(std::tuple<Args...>(args...), g.gradient)));
        },
        given...);
  };
}

}  // namespace api_detail

// The gradient of f, which returns one real number, in its argument number 0: a tree like that argument, whose static
// fields are copied. grad<2>(f): in argument 2; grad<0, 2>(f): a std::tuple of both; negative numbers count from the
// end. A C++ number that is differentiated is an array: tn::grad(f)(0.7f). Where the arguments are concrete, f may use
// ordinary `if` and `while` on x.item(): it is run once, and no trace is kept.
//   auto slope = tn::grad([](Array x) { return tn::sin(x) * x; });
//   auto [dw, db] = tn::grad<0, 1>([](Array w, Array b, Array x) { return tn::sum(tn::tanh(w * x + b)); })(w, b, x);
// Throws DifferentiationError where the result is not one real number, or a leaf of such an argument has no derivative.
template <int... Argnums, class F>
auto grad(F f, const Source& where = std::source_location::current()) {
  return [g = api_detail::value_and_grad_of<false, Argnums...>("grad", std::move(f), where)](const auto&... args) {
    return g(args...).second;
  };
}
// f returns std::pair(number, auxiliary), any tree that is not differentiated: std::pair(gradient, auxiliary).
template <int... Argnums, class F>
auto grad(F f, HasAux, const Source& where = std::source_location::current()) {
  return [g = api_detail::value_and_grad_of<true, Argnums...>("grad", std::move(f), where)](const auto&... args) {
    auto both = g(args...);
    return std::pair(std::move(both.second), std::move(both.first.second));
  };
}

// std::pair(result, gradient) in one pass, as grad says. With has_aux the result is std::pair(number, auxiliary).
//   auto [value, gradient] = tn::value_and_grad(loss)(params, x);
template <int... Argnums, class F>
auto value_and_grad(F f, const Source& where = std::source_location::current()) {
  return api_detail::value_and_grad_of<false, Argnums...>("value_and_grad", std::move(f), where);
}
template <int... Argnums, class F>
auto value_and_grad(F f, HasAux, const Source& where = std::source_location::current()) {
  return api_detail::value_and_grad_of<true, Argnums...>("value_and_grad", std::move(f), where);
}

}  // namespace tenon
