// jacfwd, jacrev, hessian: all derivatives, of any tree in any tree.
#pragma once

#include "tenon/api/arguments.h"
#include "tenon/base/function_ref.h"

namespace tenon {

// The Jacobian of a result that is an aggregate R: a block A, like the argument, for each Array of R.
//   tn::Jacobian<State, Arm> J = tn::jacfwd(simulate)(arm);
//   J(&State::height).joints[2].angle      // d height / d angle: shape (height's axes, angle's axes)
template <class R, class A>
class Jacobian {
 public:
  Jacobian() = default;
  Jacobian(const R& result, std::vector<A> blocks) : result_(result), blocks_(std::move(blocks)) {
    const Arrays none(blocks_.size());
    tree::assign(result_, none);
  }
  // The block of one Array: a pointer to the field, or a function from R to a reference to it.
  template <class Select>
  const A& operator()(Select select) const {
    static_assert(
        std::is_same_v<std::invoke_result_t<Select, const R&>, const Array&>,
        "Jacobian: select one Array of the result: &State::height, or a function that returns a const Array&");
    const Array* chosen = &std::invoke(select, std::as_const(result_));
    std::size_t i = 0, at = blocks_.size();
    tree::View(result_).visit([&](const Array& a) {
      if (&a == chosen) at = i;
      ++i;
    });
    if (at == blocks_.size()) throw TreeError("Jacobian: what was selected is no Array of the result.");
    return blocks_[at];
  }
  const std::vector<A>& blocks() const { return blocks_; }  // in the order of the result's Arrays
  TENON_TREE(Jacobian, blocks_)

 private:
  R result_;  // its structure alone
  std::vector<A> blocks_;
};

namespace api_detail {

// The type of a Jacobian of R in A: A where R is an Array, R where A is; containers of R hold Jacobians; an aggregate R
// becomes Jacobian<R, A>.
template <class R, class A>
struct JacobianOf {
  static auto make(const R& r, auto& next) {
    if constexpr (std::is_arithmetic_v<R> || std::is_enum_v<R> || std::is_same_v<R, std::string>) {
      return r;
    } else {
      std::vector<A> blocks;
      for (std::size_t i = tree::count(r); i > 0; --i) blocks.push_back(next());
      return Jacobian<R, A>(r, std::move(blocks));
    }
  }
};
template <class A>
struct JacobianOf<Array, A> {
  static A make(const Array&, auto& next) { return next(); }
};
template <class T, std::size_t N, class A>
struct JacobianOf<std::array<T, N>, A> {
  static auto make(const std::array<T, N>& r, auto& next) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{JacobianOf<T, A>::make(r[I], next)...};
    }(std::make_index_sequence<N>());
  }
};
template <class T, class Alloc, class A>
struct JacobianOf<std::vector<T, Alloc>, A> {
  static auto make(const std::vector<T, Alloc>& r, auto& next) {
    std::vector<decltype(JacobianOf<T, A>::make(r[0], next))> all;
    for (const T& item : r) all.push_back(JacobianOf<T, A>::make(item, next));
    return all;
  }
};
template <class K, class T, class C, class Alloc, class A>
struct JacobianOf<std::map<K, T, C, Alloc>, A> {
  static auto make(const std::map<K, T, C, Alloc>& r, auto& next) {
    std::map<K, decltype(JacobianOf<T, A>::make(r.begin()->second, next)), C> all;
    for (const auto& [key, item] : r) all.emplace(key, JacobianOf<T, A>::make(item, next));
    return all;
  }
};
template <class T, class A>
struct JacobianOf<std::optional<T>, A> {
  static auto make(const std::optional<T>& r, auto& next) {
    std::optional<decltype(JacobianOf<T, A>::make(*r, next))> all;
    if (r) all = JacobianOf<T, A>::make(*r, next);
    return all;
  }
};
template <class S, class T, class A>
struct JacobianOf<std::pair<S, T>, A> {
  static auto make(const std::pair<S, T>& r, auto& next) {
    auto first = JacobianOf<S, A>::make(r.first, next);
    return std::pair(std::move(first), JacobianOf<T, A>::make(r.second, next));
  }
};
template <class... T, class A>
struct JacobianOf<std::tuple<T...>, A> {
  static auto make(const std::tuple<T...>& r, auto& next) {
    return std::apply(
        [&](const T&... items) {
          return std::tuple<decltype(JacobianOf<T, A>::make(items, next))...>{JacobianOf<T, A>::make(items, next)...};
        },
        r);
  }
};

struct FlatJacobian {
  Arrays outputs;
  Arrays blocks;  // for each differentiated output, one a leaf of all arguments, empty where it is not chosen
};
enum class Mode { forward, reverse };
// `differentiated`: how many of f's arrays are no auxiliary ones; asked for when it has been traced.
FlatJacobian jacobian_flat(Mode mode, std::string_view op, FlatFunction f, const Arguments& arguments,
                           FunctionRef<std::size_t()> differentiated);

// Blocks in the trees of the result and of the chosen arguments.
template <int... Argnums, class R, class... Args>
auto blocks_as_tree(const R& result, const Arrays& blocks, const std::tuple<Args...>& args) {
  std::span<const Array> rest(blocks);
  const std::size_t each = tree::count(args);
  auto next = [&] {
    auto block = chosen_of<Argnums...>(tree::with_leaves(args, rest));
    rest = rest.subspan(each);
    return block;
  };
  using A = decltype(next());
  if constexpr (std::is_same_v<A, Array>) {
    Arrays leaves;
    while (!rest.empty()) leaves.push_back(next());
    return tree::with_leaves(result, leaves);
  } else {
    return JacobianOf<R, A>::make(result, next);
  }
}

template <bool Aux, int... Argnums, class F>
auto jacobian_of(Mode mode, std::string_view op, F f, const Source& where) {
  return [mode, op, f = Held{std::move(f)}, where]<class... Given>(const Given&... given) {
    const SourceScope place(where);
    return with_lifted<Argnums...>(
        [&]<class... Args>(const Args&... args) {
          Flattened<F, Args...> flat(f.f, args...);
          const auto differentiated = [&]() -> decltype(auto) {
            if constexpr (Aux)
              return ((flat.result()).first);
            else
              return (flat.result());
          };
          const FlatJacobian j = jacobian_flat(mode, op, flat, Arguments::of<Argnums...>(flat, args...),
                                               [&] { return tree::count(differentiated()); });
          auto jacobian = blocks_as_tree<Argnums...>(differentiated(), j.blocks, std::tuple<Args...>(args...));
          if constexpr (Aux)
            return std::pair(std::move(jacobian), flat.rebuild(j.outputs).second);
          else
            return jacobian;
        },
        given...);
  };
}

}  // namespace api_detail

// The Jacobian of f in its argument number 0, by forward mode: one tangent an element of the argument, all in one
// batch. Each block has the shape (axes of the result's leaf, axes of the argument's leaf). Of an Array result: a tree
// like the argument; in an Array argument: a tree like the result; of a container of results: that container of
// Jacobians; of an aggregate: a Jacobian<R, A>. jacfwd<0, 2>(f): in both arguments, the argument's tree is a tuple.
//   auto J = tn::jacfwd(tip)(arm);                  // tip: Arm -> f64[3]; J.joints[2].angle: f64[3]
//   auto [dx, dy] = tn::jacfwd<0, 1>(f)(x, y);
// With has_aux, f returns std::pair(result, auxiliary) and the derivative std::pair(Jacobian, auxiliary). Of complex
// numbers, the derivative of a holomorphic function. Throws DifferentiationError where a leaf has no derivative.
template <int... Argnums, class F>
auto jacfwd(F f, const Source& where = std::source_location::current()) {
  return api_detail::jacobian_of<false, Argnums...>(api_detail::Mode::forward, "jacfwd", std::move(f), where);
}
template <int... Argnums, class F>
auto jacfwd(F f, HasAux, const Source& where = std::source_location::current()) {
  return api_detail::jacobian_of<true, Argnums...>(api_detail::Mode::forward, "jacfwd", std::move(f), where);
}

// The same by reverse mode: one cotangent an element of the result, all in one batch.
//   tn::jacrev([](Array x) { return x * x; })(Array{1.f, 2.f})   // 2 0, 0 4
template <int... Argnums, class F>
auto jacrev(F f, const Source& where = std::source_location::current()) {
  return api_detail::jacobian_of<false, Argnums...>(api_detail::Mode::reverse, "jacrev", std::move(f), where);
}
template <int... Argnums, class F>
auto jacrev(F f, HasAux, const Source& where = std::source_location::current()) {
  return api_detail::jacobian_of<true, Argnums...>(api_detail::Mode::reverse, "jacrev", std::move(f), where);
}

// Second derivatives of a function that returns an Array: the Jacobian of its gradient (of its Jacobian, where it is no
// single number), forward over reverse. In a tree, H(&Params::w).b is d²f / dw db.
//   tn::hessian([](Array x) { return tn::sum(x * x * x); })(Array{1.f, 2.f})   // 6 0, 0 12
template <int... Argnums, class F>
auto hessian(F f, const Source& where = std::source_location::current()) {
  return jacfwd<Argnums...>(jacrev<Argnums...>(std::move(f), where), where);
}

}  // namespace tenon
