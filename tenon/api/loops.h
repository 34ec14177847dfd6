// Loops and branches over trees: scan, map, while_loop, fori_loop, cond. All are one loop op or one cond op.
#pragma once

#include "tenon/api/transforms.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/region.h"
#include "tenon/ops/shape.h"

namespace tenon {

namespace api_detail {

// A body traced at types; what it captured becomes the loop's consts.
TracedFunction trace_region(const FlatFunction& f, std::span<const Type> types);

struct FlatLoop {
  FlatFunction body;  // (carries…, xs elements…) -> (carries…, ys elements…)
  FlatFunction cond;  // (carries…) -> bool; may be empty
  std::optional<Dim> length;
  bool reverse = false;
  std::vector<std::string> carry_paths;
};
// Types of the carries are settled first: a weak number takes the dtype that the body gives it. Any other change of
// dtype or shape is an error that names the leaf.
Arrays run_loop(std::string_view op, const FlatLoop& loop, Arrays carries, const Arrays& xs);

Arrays run_cond(std::string_view op, const Array& index, std::span<const FlatFunction> branches,
                const Arrays& operands);

}  // namespace api_detail

struct ScanOptions {
  std::optional<Dim> length;  // needed where xs has no array
  bool reverse = false;
};

// f: (carry, x) -> std::pair(carry, y), for each x along axis 0 of the leaves of xs. Returns {final carry, ys stacked}.
template <class F, class Carry, class Xs>
auto scan(F f, const Carry& init, const Xs& xs, ScanOptions options = {},
          const Source& where = std::source_location::current()) {
  const SourceScope place(where);
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Carry&, const Xs&>>;
  using Y = std::remove_cvref_t<typename Result::second_type>;
  const Arrays carries = tree::leaves(init), elements = tree::leaves(xs);
  if (!options.length) {
    if (elements.empty()) throw ShapeError("scan: neither xs nor the option `length` says how many steps there are.");
    options.length = elements[0].dim(0);
  }
  std::optional<Y> y;
  api_detail::FlatLoop loop;
  loop.length = options.length;
  loop.reverse = options.reverse;
  loop.carry_paths = tree::paths(init);
  loop.body = [&](std::span<const Array> in) {
    const Carry c = tree::with_leaves(init, in.first(carries.size()));
    const Xs x = tree::with_leaves(xs, in.subspan(carries.size()));
    Result result = f(c, x);
    y = result.second;
    Arrays out = tree::leaves(Carry(result.first));
    const Arrays ys = tree::leaves(*y);
    out.insert(out.end(), ys.begin(), ys.end());
    return out;
  };
  const Arrays results = api_detail::run_loop("scan", loop, carries, elements);
  const std::span<const Array> all(results);
  return std::pair<Carry, Y>(tree::with_leaves(init, all.first(carries.size())),
                             tree::with_leaves(*y, all.subspan(carries.size())));
}

// f of each element along axis 0, results stacked.
template <class F, class Xs>
auto map(F f, const Xs& xs, const Source& where = std::source_location::current()) {
  return scan([&](const std::tuple<>& c, const Xs& x) { return std::pair(c, f(x)); }, std::tuple<>(), xs, {}, where)
      .second;
}

// body while cond holds; both take the carry.
template <class Cond, class Body, class Carry>
Carry while_loop(Cond cond, Body body, const Carry& init, const Source& where = std::source_location::current()) {
  const SourceScope place(where);
  api_detail::FlatLoop loop;
  loop.carry_paths = tree::paths(init);
  loop.cond = [&](std::span<const Array> in) { return Arrays{cond(tree::with_leaves(init, in))}; };
  loop.body = [&](std::span<const Array> in) { return tree::leaves(Carry(body(tree::with_leaves(init, in)))); };
  return tree::with_leaves(init, api_detail::run_loop("while_loop", loop, tree::leaves(init), {}));
}

// body(i, carry) for i from lower to upper - 1, i32; bounds are numbers or integer arrays.
template <class Body, class Carry>
Carry fori_loop(const Operand& lower, const Operand& upper, Body body, const Carry& init,
                const Source& where = std::source_location::current()) {
  const SourceScope place(where);
  if (lower->number() != nullptr && upper->number() != nullptr) {
    const auto from = lower->item<std::int64_t>(), to = upper->item<std::int64_t>();
    const auto step = [&](const Carry& c, const Array& i) { return std::pair(Carry(body(i, c)), std::tuple<>()); };
    const Array indices =
        arange(Dim(std::max<std::int64_t>(to - from, 0)), DType::i32) + Array(Scalar(static_cast<std::int32_t>(from)));
    return scan(step, init, indices, {}, where).first;
  }
  const Array limit = convert(upper, DType::i32);
  return while_loop([&](const std::pair<Array, Carry>& s) { return s.first < limit; },
                    [&](const std::pair<Array, Carry>& s) {
                      return std::pair<Array, Carry>(s.first + Array(Scalar(std::int32_t(1))), body(s.first, s.second));
                    },
                    std::pair<Array, Carry>(convert(lower, DType::i32), init), where)
      .second;
}

// on_true(args…) where the predicate, one bool, holds, else on_false(args…). Only the branch taken runs.
template <class T, class F, class... Args>
auto cond(const Operand& predicate, T on_true, F on_false, const Args&... args) {
  const SourceScope place(predicate.where());
  api_detail::Flattened<F, Args...> no(on_false, args...);
  api_detail::Flattened<T, Args...> yes(on_true, args...);
  static_assert(std::is_same_v<typename decltype(no)::Result, typename decltype(yes)::Result>,
                "cond: the branches return different types of trees");
  const std::array<FlatFunction, 2> branches{no.function, yes.function};
  const Arrays results = api_detail::run_cond("cond", convert(predicate, DType::i32), branches, no.arguments);
  return no.rebuild(results);
}

}  // namespace tenon
