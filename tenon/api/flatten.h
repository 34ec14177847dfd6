// A user's function of trees as one of flat arrays: what every transformation of functions starts from.
#pragma once

#include <memory>

#include "tenon/api/list.h"
#include "tenon/api/ref.h"
#include "tenon/api/trace.h"
#include "tenon/api/tree.h"
#include "tenon/base/function_ref.h"

namespace tenon::api_detail {

// A user's function inside of what is returned to the user, which can be called where it is const.
template <class F>
struct Held {
  mutable F f;
};
template <class F>
Held(F) -> Held<F>;

// What a user's function returns for such arguments.
template <class F, class... Args>
struct CallOf {
  static_assert(std::is_invocable_v<F&, const Args&...>,
                "the function does not take these arguments: give it one parameter an argument, each by value or const "
                "reference, and tn::Array, not float or double, for what is traced");
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Args&...>>;
};
template <class F, class... Args>
using ResultOf = typename CallOf<F, Args...>::Result;

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

// A function at given arguments, which is called with their leaves; the tree of what it returned last is kept to be
// filled later.
template <class Given, class... Args>
class FlattenedCall {
 public:
  using Result = Given;
  FlattenedCall(Callable<Result, Args...> f, std::tuple<Args...> args)
      : f_(f), prototype_(std::move(args)), arguments_(tree::leaves(prototype_)) {
    require_distinct(SourceScope::function(), cells_of(prototype_));
  }
  FlattenedCall(const FlattenedCall&) = delete;
  FlattenedCall& operator=(const FlattenedCall&) = delete;

  const Arrays& arguments() const { return arguments_; }
  FunctionRef<std::vector<std::string>()> paths() const { return paths_; }  // of the arguments' leaves
  Arrays operator()(std::span<const Array> in) {
    result_ = f_.call(f_.f, tree::with_leaves(prototype_, in));
    return tree::leaves(*result_);
  }
  Result& result() { return *result_; }
  Result rebuild(std::span<const Array> leaves) const { return tree::with_leaves(*result_, leaves); }

 private:
  struct Paths {
    const std::tuple<Args...>& of;
    std::vector<std::string> operator()() const { return tree::paths(of); }
  };
  Callable<Result, Args...> f_;
  std::tuple<Args...> prototype_;
  Paths paths_{prototype_};
  Arrays arguments_;
  std::optional<Result> result_;
};
template <class F, class... Args>
struct Flattened : FlattenedCall<ResultOf<F, Args...>, Args...> {
  using Call = FlattenedCall<ResultOf<F, Args...>, Args...>;
  static_assert((tree_detail::check_argument<Args>() && ...) && tree_detail::check_result<typename Call::Result>());
  Flattened(F& f, const Args&... args)
      : Call(Callable<typename Call::Result, Args...>::of(f), std::tuple<Args...>(args...)) {}
};

}  // namespace tenon::api_detail
