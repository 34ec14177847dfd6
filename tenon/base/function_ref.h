// A function that is called while it is borrowed: two words, no memory of its own, whatever the function's type is.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tenon {

template <class Signature>
class FunctionRef;

// What it is made of must outlive it: a parameter is the place for it, and a variable only of a function that has a
// name. Empty where it is made of nothing; it must not be called then. (C++26 has std::function_ref.)
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  FunctionRef() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
             requires(F& f, Args... args) { static_cast<Result>(f(static_cast<Args&&>(args)...)); })
  FunctionRef(F&& f)
      : f_(reinterpret_cast<const void*>(std::addressof(f))), call_([](const void* f, Args... args) -> Result {
          using Called = std::remove_reference_t<F>;
          if constexpr (std::is_function_v<Called>)
            return static_cast<Result>(reinterpret_cast<Called*>(const_cast<void*>(f))(static_cast<Args&&>(args)...));
          else
            return static_cast<Result>((*static_cast<Called*>(const_cast<void*>(f)))(static_cast<Args&&>(args)...));
        }) {}

  // What is assigned may well be temporary: say FunctionRef of what has a name.
  template <class F>
    requires(!std::is_same_v<F, FunctionRef>)
  FunctionRef& operator=(F) = delete;

  explicit operator bool() const { return call_ != nullptr; }
  Result operator()(Args... args) const { return call_(f_, static_cast<Args&&>(args)...); }

 private:
  const void* f_ = nullptr;
  Result (*call_)(const void*, Args...) = nullptr;
};

}  // namespace tenon
