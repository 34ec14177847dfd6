// grad, value_and_grad: reverse mode of functions that return one real number.
#pragma once

#include "tenon/api/arguments.h"
#include "tenon/api/rows.h"

namespace tenon {

// Said to grad and value_and_grad: the gradient in these arguments (in argument 0 where none is named), which are
// arrays that f only indexes along their first axis, is given as Rows.
template <int... Argnums>
struct Sparse {};
template <int... Argnums>
inline constexpr Sparse<Argnums...> sparse;

namespace api_detail {

struct FlatGradient {
  Arrays outputs;
  Arrays gradient;  // one a leaf of all arguments, empty where it is not chosen, or sparse
  std::vector<Rows> rows;
};
FlatGradient gradient_flat(std::string_view op, FlatFunction f, const Arguments& arguments);
// `sparse`: leaves whose gradient is given as rows.
FlatGradient sparse_gradient_flat(std::string_view op, FlatFunction f, const Arguments& arguments,
                                  const std::vector<bool>& sparse);

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
          const FlatGradient g = gradient_flat(op, flat, Arguments::of<Argnums...>(flat, args...));
          const std::tuple<Args...> all(args...);
          return std::pair(flat.rebuild(g.outputs),
                           chosen_of<Argnums...>(with_sizes_of(all, tree::with_leaves(all, g.gradient))));
        },
        given...);
  };
}

// Of the gradient in all arguments what is chosen, as chosen_of; the first leaves of arguments that are sparse, rows.
template <int... Of, int... Argnums, class... Args>
auto chosen_rows_of(Sparse<Of...>, std::integer_sequence<int, Argnums...>, const std::tuple<Args...>& all,
                    const FlatGradient& g) {
  constexpr auto count = sizeof...(Args);
  return chosen_by<count, Argnums...>([&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    if constexpr (is_chosen<count, Of...>(N)) {
      static_assert(std::is_same_v<std::tuple_element_t<N, std::tuple<Args...>>, Array>,
                    "tn::sparse names an argument that is no Array: pass the array that is indexed as one of its own");
      std::size_t leaf = 0;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((leaf += tree::count(std::get<I>(all))), ...);
      }(std::make_index_sequence<N>());
      return g.rows[leaf];
    } else {
      return std::get<N>(all);
    }
  });
}

template <bool Aux, int... Argnums, int... Of, class F>
auto sparse_value_and_grad_of(std::string_view op, F f, Sparse<Of...> sparse, const Source& where) {
  return [op, f = Held{std::move(f)}, sparse, where]<class... Given>(const Given&... given) {
    const SourceScope place(where);
    check_argnums<sizeof...(Given), Of...>();
    static_assert(
        []<std::size_t... I>(std::index_sequence<I...>) {
          return ((!is_chosen<sizeof...(Given), Of...>(I) || is_chosen<sizeof...(Given), Argnums...>(I)) && ...);
        }(std::index_sequence_for<Given...>()),
        "tn::sparse names an argument in which no gradient is taken");
    return with_lifted<Argnums...>(
        [&]<class... Args>(const Args&... args) {
          check_loss<ResultOf<F, Args...>, Aux>();
          Flattened<F, Args...> flat(f.f, args...);
          const Arguments arguments = Arguments::of<Argnums...>(flat, args...);
          const FlatGradient g = sparse_gradient_flat(op, flat, arguments, Arguments::of<Of...>(flat, args...).chosen);
          return std::pair(flat.rebuild(g.outputs),
                           chosen_rows_of(sparse, std::integer_sequence<int, Argnums...>(),
                                          tree::with_leaves(std::tuple<Args...>(args...), g.gradient), g));
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
//   slope(1.0)   // sin 1 + cos 1 = 1.381773
//   auto [dw, db] = tn::grad<0, 1>([](Array w, Array b, Array x) { return tn::sum(tn::tanh(w * x + b)); })(w, b, x);
// Throws DifferentiationError where the result is not one real number, or a leaf of such an argument has no derivative.
template <int... Argnums, class F>
auto grad(F f, const Source& where = std::source_location::current()) {
  return [g = api_detail::value_and_grad_of<false, Argnums...>("grad", std::move(f), where)](const auto&... args) {
    return g(args...).second;
  };
}
// f returns std::pair(number, auxiliary), any tree that is not differentiated: std::pair(gradient, auxiliary).
//   tn::grad([](Array x) { return std::pair(x * x, x + 1.f); }, tn::has_aux)(Array(3.f))   // 6, 4
template <int... Argnums, class F>
auto grad(F f, HasAux, const Source& where = std::source_location::current()) {
  return [g = api_detail::value_and_grad_of<true, Argnums...>("grad", std::move(f), where)](const auto&... args) {
    auto both = g(args...);
    return std::pair(std::move(both.second), std::move(both.first.second));
  };
}

// The gradient in arguments that f only indexes along their first axis, x(i), x(indices), x(slice(1, 4)), in loops and
// branches too, as the rows that it has read: memory and time do not depend on the size of the array. tn::sparse<0, 2>
// names them; the gradient in other arguments is dense. Throws DifferentiationError where f needs more of such an
// array.
//   auto [rows, dw] = tn::grad<0, 1>(loss, tn::sparse<0>)(table, w, ids);
//   table = table.at(rows.indices).add(-0.1f * rows.values);
template <int... Argnums, int... Of, class F>
auto grad(F f, Sparse<Of...> sparse, const Source& where = std::source_location::current()) {
  return [g = api_detail::sparse_value_and_grad_of<false, Argnums...>("grad", std::move(f), sparse, where)](
             const auto&... args) { return g(args...).second; };
}
template <int... Argnums, int... Of, class F>
auto grad(F f, HasAux, Sparse<Of...> sparse, const Source& where = std::source_location::current()) {
  return [g = api_detail::sparse_value_and_grad_of<true, Argnums...>("grad", std::move(f), sparse, where)](
             const auto&... args) {
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
// With has_aux: std::pair(std::pair(number, auxiliary), gradient).
//   tn::value_and_grad([](Array x) { return std::pair(x * x, x + 1.f); }, tn::has_aux)(Array(3.f))   // 9, 4, 6
template <int... Argnums, class F>
auto value_and_grad(F f, HasAux, const Source& where = std::source_location::current()) {
  return api_detail::value_and_grad_of<true, Argnums...>("value_and_grad", std::move(f), where);
}

// With the gradient in some arguments as the rows that f read, as grad says.
//   auto [value, gradients] = tn::value_and_grad<0, 1>(loss, tn::sparse<0>)(table, w, ids);
template <int... Argnums, int... Of, class F>
auto value_and_grad(F f, Sparse<Of...> sparse, const Source& where = std::source_location::current()) {
  return api_detail::sparse_value_and_grad_of<false, Argnums...>("value_and_grad", std::move(f), sparse, where);
}
template <int... Argnums, int... Of, class F>
auto value_and_grad(F f, HasAux, Sparse<Of...> sparse, const Source& where = std::source_location::current()) {
  return api_detail::sparse_value_and_grad_of<true, Argnums...>("value_and_grad", std::move(f), sparse, where);
}

}  // namespace tenon
