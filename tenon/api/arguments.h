// The arguments of a function by number: which of them a derivative is taken in.
#pragma once

#include "tenon/api/flatten.h"
#include "tenon/base/function_ref.h"

namespace tenon {

// Said to grad, value_and_grad, jacfwd, jacrev: the function returns std::pair(result, auxiliary).
struct HasAux {};
inline constexpr HasAux has_aux;

namespace api_detail {

template <class First, class Result>
inline constexpr bool is_pair_of = false;
template <class First, class Second>
inline constexpr bool is_pair_of<First, std::pair<First, Second>> = true;

// No number stands for argument 0; a negative one counts from the end.
template <std::size_t Count, int... Argnums>
constexpr bool is_chosen(std::size_t i) {
  if (sizeof...(Argnums) == 0) return i == 0;
  return ((i == static_cast<std::size_t>(Argnums < 0 ? Argnums + static_cast<int>(Count) : Argnums)) || ...);
}
template <std::size_t Count, int... Argnums>
constexpr void check_argnums() {
  static_assert(Count > 0, "a derivative of a function without arguments");
  static_assert(((Argnums < static_cast<int>(Count) && Argnums >= -static_cast<int>(Count)) && ...),
                "a derivative in an argument that the function does not have");
}

// A C++ number that is differentiated is an array; everything else stays.
template <bool Chosen, class T>
decltype(auto) lifted(const T& given) {
  if constexpr (Chosen && std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    return Array(given);
  else
    return (given);
}
template <int... Argnums, class Use, class... Given>
auto with_lifted(Use&& use, const Given&... given) {
  check_argnums<sizeof...(Given), Argnums...>();
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return use(lifted<is_chosen<sizeof...(Given), Argnums...>(I)>(given)...);
  }(std::index_sequence_for<Given...>());
}

// The leaves of all arguments, and which of them are chosen.
struct Arguments {
  Arrays leaves;
  std::vector<bool> chosen;
  FunctionRef<std::vector<std::string>()> paths;  // of all leaves; only errors ask

  template <int... Argnums, class Call, class... Args>
  static Arguments of(const Call& call, const Args&... args) {
    Arguments arguments{call.arguments(), {}, call.paths()};
    std::size_t i = 0;
    const auto add = [&](const auto& arg) {
      const std::size_t first = arguments.chosen.size();
      arguments.chosen.insert(arguments.chosen.end(), tree::count(arg), is_chosen<sizeof...(Args), Argnums...>(i));
      leave_out_sizes(arg, arguments.chosen, first);
      ++i;
    };
    (add(args), ...);
    return arguments;
  }
};

// one(number) of the argument that is chosen, the first where none is; of several, a tuple.
template <std::size_t Count, int... Argnums, class One>
auto chosen_by(One one) {
  constexpr auto at = [](int n) { return static_cast<std::size_t>(n < 0 ? n + static_cast<int>(Count) : n); };
  if constexpr (sizeof...(Argnums) == 0)
    return one(std::integral_constant<std::size_t, 0>());
  else if constexpr (sizeof...(Argnums) == 1)
    return one(std::integral_constant<std::size_t, at((Argnums + ...))>());
  else
    return std::tuple(one(std::integral_constant<std::size_t, at(Argnums)>())...);
}

// Of all arguments the chosen one; a tuple of them where several are, in the order of their numbers as given.
template <int... Argnums, class... Args>
auto chosen_of(const std::tuple<Args...>& all) {
  return chosen_by<sizeof...(Args), Argnums...>(
      [&]<std::size_t N>(std::integral_constant<std::size_t, N>) { return std::get<N>(all); });
}

}  // namespace api_detail
}  // namespace tenon
