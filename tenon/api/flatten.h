// A user's function of trees as one of flat arrays: what every transformation of functions starts from.
#pragma once

#include <memory>

#include "tenon/api/list.h"
#include "tenon/api/ref.h"
#include "tenon/api/trace.h"
#include "tenon/api/tree.h"

namespace tenon::api_detail {

// A user's function inside of what is returned to the user, which can be called where it is const.
template <class F>
struct Held {
  mutable F f;
};
template <class F>
Held(F) -> Held<F>;

template <class F, class... Args>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<F&, const Args&...>>;

// A function of trees, of whatever type it is: so that what is built on it is compiled once for each type of trees. It
// must outlive this.
template <class Result, class... Args>
struct Callable {
  void* f;
  Result (*call)(void* f, const std::tuple<Args...>& args);

  template <class F>
  static Callable of(F& f) {
    return {const_cast<void*>(static_cast<const void*>(std::addressof(f))),
            [](void* f, const std::tuple<Args...>& args) -> Result { return std::apply(*static_cast<F*>(f), args); }};
  }
};

// A function at given arguments; the result's tree is kept to be filled later.
template <class Given, class... Args>
struct FlattenedCall {
  using Result = Given;
  std::shared_ptr<std::optional<Result>> result;
  FlatFunction function;
  Arrays arguments;

  FlattenedCall(Callable<Result, Args...> f, const Args&... args) : arguments(tree::leaves(std::tie(args...))) {
    require_distinct(SourceScope::function(), cells_of(std::tie(args...)));
    struct Kept {
      std::tuple<Args...> prototype;
      std::optional<Result> result;
    };
    auto kept = std::make_shared<Kept>(std::tuple<Args...>(args...), std::nullopt);
    result = std::shared_ptr<std::optional<Result>>(kept, &kept->result);
    function = [kept = std::move(kept), f](std::span<const Array> in) {
      kept->result = f.call(f.f, tree::with_leaves(kept->prototype, in));
      return tree::leaves(*kept->result);
    };
  }
  Result rebuild(std::span<const Array> leaves) const { return tree::with_leaves(**result, leaves); }
};
template <class F, class... Args>
struct Flattened : FlattenedCall<ResultOf<F, Args...>, Args...> {
  using Call = FlattenedCall<ResultOf<F, Args...>, Args...>;
  static_assert((tree_detail::check_argument<Args>() && ...) && tree_detail::check_result<typename Call::Result>());
  Flattened(F& f, const Args&... args) : Call(Callable<typename Call::Result, Args...>::of(f), args...) {}
};

}  // namespace tenon::api_detail
