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

// A function at given arguments; the result's tree is kept to be filled later.
template <class F, class... Args>
struct Flattened {
  using Result = ResultOf<F, Args...>;
  std::shared_ptr<std::optional<Result>> result = std::make_shared<std::optional<Result>>();
  FlatFunction function;
  Arrays arguments;

  static_assert((tree_detail::check_argument<Args>() && ...) && tree_detail::check_result<Result>());

  Flattened(F& f, const Args&... args) : arguments(tree::leaves(std::tie(args...))) {
    require_distinct(SourceScope::function(), cells_of(std::tie(args...)));
    auto prototype = std::make_shared<std::tuple<Args...>>(args...);
    function = [prototype, &f, into = result](std::span<const Array> in) {
      const std::tuple<Args...> traced = tree::with_leaves(*prototype, in);
      *into = std::apply(f, traced);
      return tree::leaves(**into);
    };
  }
  Result rebuild(std::span<const Array> leaves) const { return tree::with_leaves(**result, leaves); }
};

}  // namespace tenon::api_detail
