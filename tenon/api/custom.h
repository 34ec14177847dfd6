// custom_jvp, custom_vjp, custom_vmap: functions on trees with derivatives and batches of their own. checkpoint:
// functions of which reverse mode keeps the arguments alone.
#pragma once

#include "tenon/api/flatten.h"
#include "tenon/api/vmap.h"
#include "tenon/base/function_ref.h"

namespace tenon {

// Which leaves of a tree are batched, as a prefix of it: true or false for all leaves below, or a list with an entry a
// field or element, in order. Of the arguments of a function: a list has an entry an argument.
class BatchedTree {
 public:
  template <std::same_as<bool> T>
  BatchedTree(T batched) : axes_(batched ? AxisTree(0) : AxisTree(none)) {}
  BatchedTree(std::initializer_list<BatchedTree> entries);
  explicit BatchedTree(AxisTree axes) : axes_(std::move(axes)) {}

  explicit operator bool() const;  // whether any leaf is
  // Of an argument, field or element; false where there is no array.
  BatchedTree operator[](std::size_t entry) const;
  // 0 in place of true, none in place of false: as in_axes of vmap.
  const AxisTree& axes() const { return axes_; }

 private:
  AxisTree axes_;
};

namespace api_detail {

// Names of the leaves of the arguments, asked for by errors alone.
using Paths = FunctionRef<std::vector<std::string>()>;

// rule: arguments, then a tangent each (empty for those that have none) -> results, then a tangent each.
Arrays custom_jvp_flat(FlatFunction f, FlatFunction rule, std::span<const Array> arguments);

// forward: arguments -> results, then residuals. backward: residuals, then a cotangent a result (empty for those that
// have none) -> a cotangent an argument.
Arrays custom_vjp_flat(FlatFunction f, FlatFunction forward, FlatFunction backward, std::span<const Array> arguments,
                       Paths paths);

// rule: a batch of the arguments of the mask, axis 0 of so many lanes, and of those results that the mask it returns
// says.
struct Batched {
  Arrays results;
  std::vector<bool> batched;
};
using BatchByRule = FunctionRef<Batched(const Dim& lanes, const std::vector<bool>& batched, std::span<const Array>)>;
Arrays custom_vmap_flat(FlatFunction f, BatchByRule rule, std::span<const Array> arguments);
// What a rule is told of its arguments, and what is said of the leaves of a result.
BatchedTree batched_arguments(std::span<const tree::Place> places, const std::vector<bool>& batched, std::size_t count);
std::vector<bool> batched_leaves(const BatchedTree& batched, std::span<const tree::Place> places);

template <class Ruled, class Result>
inline constexpr bool is_batch_of = false;
template <class First, class Second, class Result>
inline constexpr bool is_batch_of<std::pair<First, Second>, Result> =
    std::is_convertible_v<First, Result> && std::is_convertible_v<Second, BatchedTree>;

// Whether reverse mode keeps the results of an eqn of the function, whose calls are replaced by their bodies.
using Keeps = FunctionRef<bool(const Program&, const Eqn&)>;
// Keeps what the policy says, nothing where there is none.
Arrays checkpoint_flat(FlatFunction f, std::span<const Array> arguments, Keeps policy = {});

template <class Back, class... Args>
inline constexpr bool is_cotangents = std::is_convertible_v<Back, std::tuple<Args...>>;
template <class Back, class Arg>
inline constexpr bool is_cotangents<Back, Arg> =
    std::is_convertible_v<Back, std::tuple<Arg>> || std::is_convertible_v<Back, Arg>;

}  // namespace api_detail

// f with tangents by a rule: rule(arguments…, tangents…) -> std::pair(f(arguments…), its tangent), linear in the
// tangents, each a tree like what it belongs to. Reverse mode transposes the rule. Integers and booleans have no
// tangent: in their place stands an empty Array, and what a rule returns for them is not read. A tangent that is zero
// arrives as zeros; an empty one that is returned is zero.
//   auto log1pexp = tn::custom_jvp([](Array x) { return tn::log1p(tn::exp(x)); },
//                                  [](Array x, Array dx) {
//                                    return std::pair(tn::log1p(tn::exp(x)), dx * (1.0 - 1.0 / (1.0 + tn::exp(x))));
//                                  });
// Under grad-of-grad the rule is differentiated in its turn. Arrays that f or the rule captures are constants to it:
// differentiating in them is a DifferentiationError. Throws ShapeError and DTypeError where the rule's results differ
// from those of f.
template <class F, class Rule>
auto custom_jvp(F f, Rule rule, const Source& where = std::source_location::current()) {
  return [f = api_detail::Held{std::move(f)}, rule = api_detail::Held{std::move(rule)},
          where]<class... Args>(const Args&... args) {
    using Result = api_detail::ResultOf<F, Args...>;
    static_assert(std::is_invocable_v<Rule&, const Args&..., const Args&...>,
                  "custom_jvp: the rule takes the arguments, then their tangents");
    if (!tracing()) return Result(f.f(args...));
    const SourceScope place(where);
    api_detail::Flattened<F, Args...> flat(f.f, args...);
    const std::tuple<Args...> prototype(args...);
    const auto by_rule = [&](std::span<const Array> in) {
      const std::tuple<Args...> primals = tree::with_leaves(prototype, in),
                                tangents = api_detail::with_sizes_of(
                                    primals, tree::with_leaves(prototype, in.subspan(in.size() / 2)));
      const std::pair<Result, Result> both = std::apply(rule.f, std::tuple_cat(primals, tangents));
      Arrays out = tree::leaves(both.first), rest = tree::leaves(both.second);
      if (out.size() != rest.size())
        throw TreeError("custom_jvp: the rule returns a tangent of another structure than its result.",
                        "Return a pair of two trees with the same containers.");
      out.insert(out.end(), rest.begin(), rest.end());
      return out;
    };
    return flat.rebuild(api_detail::custom_jvp_flat(flat, by_rule, flat.arguments()));
  };
}

// f with a reverse mode of its own: forward(arguments…) -> std::pair(f(arguments…), residuals), any tree; and
// backward(residuals, cotangent of the result) -> std::tuple of cotangents, a tree like each argument (of one argument,
// the tree alone). Integers and booleans have no cotangent: in their place stands an empty Array, and what is returned
// for them is not read. A cotangent that is zero arrives as zeros; an empty one that is returned is zero.
//   auto clipped = tn::custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, std::tuple<>()); },
//                                 [](std::tuple<>, Array ct) { return tn::clamp(-1.0, ct, 1.0); });
// Only what forward returns as residuals is kept. Forward mode, and what differentiates an untransposed derivative,
// works where backward is linear in the cotangents; a DifferentiationError says so otherwise. Arrays that the functions
// capture are constants to the derivative: differentiating in them is a DifferentiationError. Throws TreeError,
// ShapeError or DTypeError naming the argument where a cotangent does not match it.
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, const Source& where = std::source_location::current()) {
  return [f = api_detail::Held{std::move(f)}, forward = api_detail::Held{std::move(forward)},
          backward = api_detail::Held{std::move(backward)}, where]<class... Args>(const Args&... args) {
    using Result = api_detail::ResultOf<F, Args...>;
    using Forwarded = api_detail::ResultOf<Forward, Args...>;
    using Residuals = std::remove_cvref_t<typename Forwarded::second_type>;
    static_assert(std::is_invocable_v<Backward&, const Residuals&, const Result&>,
                  "custom_vjp: backward takes forward's residuals and the cotangent of the result");
    using Back = api_detail::ResultOf<Backward, Residuals, Result>;
    static_assert(api_detail::is_cotangents<Back, Args...>,
                  "custom_vjp: backward returns a std::tuple with a cotangent an argument");
    if (!tracing()) return Result(f.f(args...));
    const SourceScope place(where);
    api_detail::Flattened<F, Args...> flat(f.f, args...);
    const std::tuple<Args...> prototype(args...);
    std::optional<Residuals> residuals;
    const auto go = [&](std::span<const Array> in) {
      const std::pair<Result, Residuals> both = std::apply(forward.f, tree::with_leaves(prototype, in));
      Arrays out = tree::leaves(both.first), rest = tree::leaves(both.second);
      residuals = both.second;
      out.insert(out.end(), rest.begin(), rest.end());
      // Cotangents of lists are as long as these: backward is to know.
      for (const api_detail::ListBase* list : api_detail::lists_of(both.first)) out.push_back(list->count());
      return out;
    };
    const auto back = [&](std::span<const Array> in) {
      const std::size_t outs = tree::leaves(flat.result()).size();
      const Residuals kept = tree::with_leaves(*residuals, in);
      Result cotangent = flat.rebuild(in.last(outs));
      std::size_t size = in.size() - outs;
      const std::vector<api_detail::ListBase*> lists = api_detail::lists_of(cotangent);
      for (std::size_t k = lists.size(); k-- > 0;) lists[k]->set_count(in[--size]);
      if constexpr (std::is_convertible_v<Back, std::tuple<Args...>>)
        return tree::leaves(std::tuple<Args...>(backward.f(kept, cotangent)));
      else
        return tree::leaves(std::tuple<Args...>{backward.f(kept, cotangent)});
    };
    return flat.rebuild(
        api_detail::custom_vjp_flat(flat, go, back, flat.arguments(), [&] { return tree::paths(prototype); }));
  };
}

// f with a batch rule: rule(lanes, batched, arguments…) -> std::pair(a batch of f(arguments…), which of its leaves are
// batched). lanes, a Dim, is how many there are; batched, a BatchedTree, has an entry an argument; leaves that are
// batched have the lanes as axis 0. Without vmap it is f. What is captured is the same for all lanes.
//   auto product = tn::custom_vmap([](Array x, Array y) { return tn::sum(x * y); },
//                                  [](const tn::Dim& lanes, const tn::BatchedTree& batched, Array x, Array y) {
//                                    return std::pair(tn::sum(x * y, -1), true);
//                                  });
//   std::pair(result, tn::BatchedTree{true, {false, true}})   // of a struct, whose second field is a pair
//   std::pair(x, batched[0])                                  // as argument 0 is
// The rule is traced where a call is batched, of several batches for the innermost; a call of the function in it is for
// those around. In forward mode it is differentiated with f. Where reverse mode has gone over f before the batch is
// taken, as in vmap(grad(f)), the derivative that is batched is f's. Throws TreeError where the rule's result has
// another structure than that of f, and ShapeError or DTypeError, naming the leaf, where it is no batch of it or what
// is said to be batched does not fit the tree.
template <class F, class Rule>
auto custom_vmap(F f, Rule rule, const Source& where = std::source_location::current()) {
  return [f = api_detail::Held{std::move(f)}, rule = api_detail::Held{std::move(rule)},
          where]<class... Args>(const Args&... args) {
    using Result = api_detail::ResultOf<F, Args...>;
    static_assert(
        std::is_invocable_v<Rule&, const Dim&, const BatchedTree&, const Args&...>,
        "custom_vmap: the rule takes the number of lanes, a Dim, which leaves are batched, a BatchedTree, then "
        "the arguments");
    using Ruled = std::remove_cvref_t<std::invoke_result_t<Rule&, const Dim&, const BatchedTree&, const Args&...>>;
    static_assert(api_detail::is_batch_of<Ruled, Result>,
                  "custom_vmap: the rule returns a std::pair of a tree like the function's result and of which of its "
                  "leaves are batched, true for all");
    if (!tracing()) return Result(f.f(args...));
    const SourceScope place(where);
    api_detail::Flattened<F, Args...> flat(f.f, args...);
    const std::tuple<Args...> prototype(args...);
    const auto by_rule = [&](const Dim& lanes, const std::vector<bool>& batched, std::span<const Array> in) {
      const auto told =
          std::tuple(lanes, api_detail::batched_arguments(tree::places(prototype), batched, sizeof...(Args)));
      const std::pair<Result, BatchedTree> made =
          std::apply(rule.f, std::tuple_cat(told, tree::with_leaves(prototype, in)));
      tree::require_same("custom_vmap", "the results of the function and of the rule", flat.result(), made.first);
      return api_detail::Batched{tree::leaves(made.first),
                                 api_detail::batched_leaves(made.second, tree::places(made.first))};
    };
    return flat.rebuild(api_detail::custom_vmap_flat(flat, by_rule, flat.arguments()));
  };
}

// f, of which reverse mode keeps the arguments (and what f captures) alone and computes the rest again when it needs
// it: memory for time. What is computed again is never merged with what was computed before. In forward mode, and
// without differentiation, it is f.
//   auto layer = tn::checkpoint([](Array w, Array h) { return tn::tanh(tn::matmul(h, w)); });
template <class F>
auto checkpoint(F f, const Source& where = std::source_location::current()) {
  return [f = api_detail::Held{std::move(f)}, where]<class... Args>(const Args&... args) {
    if (!tracing()) return api_detail::ResultOf<F, Args...>(f.f(args...));
    const SourceScope place(where);
    api_detail::Flattened<F, Args...> flat(f.f, args...);
    return flat.rebuild(api_detail::checkpoint_flat(flat, flat.arguments()));
  };
}

}  // namespace tenon
