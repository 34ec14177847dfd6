// Loops and branches over trees: scan, map, while_loop, fori_loop, cond, switch_case. All are one loop op or one cond
// op. associative_scan is made of slices.
#pragma once

#include "tenon/api/list.h"
#include "tenon/api/transforms.h"
#include "tenon/base/function_ref.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

namespace api_detail {

struct FlatLoop {
  FlatFunction body = {};  // (carries…, xs elements…) -> (carries…, ys elements…)
  FlatFunction cond = {};  // (carries…) -> bool; may be empty
  std::optional<Dim> length;
  bool reverse = false;
  std::int64_t unroll = 1;
  std::optional<Checkpoints> checkpoints;
  std::vector<std::string> carry_paths, xs_paths;
};
// The types of one step's elements. Throws ShapeError where xs cannot be run along.
std::vector<Type> types_of_elements(std::string_view op, const FlatLoop& loop, const Arrays& xs);
// A trace of the body that is not kept: what it does beside is to note the types of lists.
void trace_once(std::string_view op, const FlatLoop& loop, Arrays carries, const Arrays& xs);

// The initial carry, where lists that have had no element are of the type that a step gives them: it is traced once
// more, before the loop is. `step`: carry, elements of xs -> the next carry.
template <class Carry, class Step>
Carry with_types_of_lists(std::string_view op, const Carry& init, const FlatLoop& of, const Arrays& xs,
                          const Step& step) {
  const std::vector<ListBase*> before = lists_of(init);
  if (all_typed(before)) return init;
  ListTypes types;
  FlatLoop loop = of;
  loop.carry_paths = tree::paths(init);
  const std::size_t carries = loop.carry_paths.size();
  const auto body = [&](std::span<const Array> in) {
    const Carry next = step(tree::with_leaves(init, in.first(carries)), in.subspan(carries));
    const std::vector<ListBase*> lists = lists_of(next);
    note_types(lists, types);
    for (std::size_t k = 0; k < lists.size() && k < before.size(); ++k)
      if (!before[k]->typed()) lists[k]->forget_type();
    tree::require_same(op, "the initial carry and the one that the function returns", init, next);
    return tree::leaves(next);
  };
  loop.body = FlatFunction(body);
  trace_once(op, loop, tree::leaves(init), xs);
  Carry typed = init;
  give_types(lists_of(typed), types);
  return typed;
}
// A carry whose lists without a type are those of the initial carry, without elements.
template <class Carry>
Carry next_carry(std::string_view op, const ListTypes& types, const Carry& init, Carry next) {
  give_types(lists_of(next), types);
  tree::require_same(op, "the initial carry and the one that the function returns", init, next);
  return next;
}
template <class Tree>
ListTypes types_of_lists(const Tree& tree) {
  ListTypes types;
  note_types(lists_of(tree), types);
  return types;
}
[[noreturn]] void throw_list_in_ys();

// Throws ShapeError where a number of steps or places is less than one.
Checkpoints checkpoints(std::string_view function, CheckpointKind kind, std::int64_t count);

// Types of the carries are settled first: a weak number takes the dtype that the body gives it. Any other change of
// dtype or shape is an error that names the leaf.
Arrays run_loop(std::string_view op, const FlatLoop& loop, Arrays carries, const Arrays& xs);

// One integer as the number of one of `branches`: the nearest, where there is no such branch. Throws where it is not
// one.
Array branch_number(const Operand& index, std::size_t branches);

// `settled` is called when the branches have been traced; where it says no, they are traced once more.
Arrays run_cond(std::string_view op, const Array& index, std::span<const FlatFunction> branches, const Arrays& operands,
                FunctionRef<bool()> settled);

// f: (elements…, elements…) -> (elements…), of as many arrays as there are.
Arrays scan_associative(FlatFunction f, Arrays elements, std::int64_t axis, bool reverse,
                        const std::vector<std::string>& paths);

// The number of steps that xs or the option say. Throws ShapeError where neither does.
Dim steps_of(std::string_view op, const std::optional<Dim>& length, const Arrays& xs);

// From `lower` to before `upper`, one integer each, of one dtype. Throws where they are not.
struct ForiBounds {
  Array lower, upper;
  std::optional<Dim> count;  // where both are numbers or sizes
};
ForiBounds fori_bounds(const Operand& lower, const Operand& upper);

// A branch that tells which lists its result has, and gives those without a type the type that another has told.
template <class F, class... Args>
struct BranchCall : Flattened<F, Args...> {
  ListTypes& types;

  BranchCall(ListTypes& types, F& f, const Args&... args) : Flattened<F, Args...>(f, args...), types(types) {}
  Arrays operator()(std::span<const Array> in) {
    Flattened<F, Args...>::operator()(in);
    const std::vector<ListBase*> lists = lists_of(this->result());
    note_types(lists, types);
    give_types(lists, types);
    return tree::leaves(this->result());
  }
  bool lacks_type() { return api_detail::lacks_type(lists_of(this->result()), types); }
};

}  // namespace api_detail

// For ScanOptions::checkpoint. Reverse mode keeps the carry of every k-th step, and no more: it runs k steps at a time
// again, recording them. k near the square root of the number of steps needs the least memory. Throws ShapeError where
// k is less than 1.
//   tn::every(10)
template <class K>
Checkpoints every(K k) {
  static_assert(std::integral<K> && !std::same_as<K, bool>, "every: the number of steps between carries is an integer");
  return api_detail::checkpoints("every", CheckpointKind::every, static_cast<std::int64_t>(k));
}
// Reverse mode keeps n carries and what n steps record, whatever the number of steps, T, and runs steps again: few
// times each, r for T <= n·(n+r)!/(n!·r!). Throws ShapeError where n is less than 1.
//   tn::binomial(3)
template <class N>
Checkpoints binomial(N n) {
  static_assert(std::integral<N> && !std::same_as<N, bool>,
                "binomial: the number of carries that are kept is an integer");
  return api_detail::checkpoints("binomial", CheckpointKind::binomial, static_cast<std::int64_t>(n));
}

struct ScanOptions {
  std::optional<Dim> length = {};  // needed where xs has no array
  bool reverse = false;
  // Steps that one turn of the loop does, written out one behind the other; what is left over is a loop of its own. The
  // results are the same. Where the number of steps is symbolic, and where the loop is differentiated and has no
  // checkpoints, each turn is one step.
  std::int64_t unroll = 1;
  // Which carries reverse mode keeps: every(k) or binomial(n). Absent: what each step computes and others need.
  std::optional<Checkpoints> checkpoint = {};
};

// f: (carry, x) -> std::pair(carry, y), for each x along axis 0 of the leaves of xs. Returns {final carry, ys stacked}.
//   const auto sums = [](Array c, Array x) { return std::pair(c + x, c * x); };
//   tn::scan(sums, Array(0.f), Array{1.f, 2.f, 3.f})   // 6, 0 2 9
template <class F, class Carry, class Xs>
auto scan(F f, const Carry& start, const Xs& xs, ScanOptions options = {},
          const Source& where = std::source_location::current()) {
  const SourceScope place(where, "scan");
  static_assert(
      requires { std::declval<std::invoke_result_t<F&, const Carry&, const Xs&>>().second; },
      "scan: the function takes (carry, x) and returns std::pair(carry, y); y may be std::tuple<>()");
  static_assert(tree_detail::check_argument<Carry>() && tree_detail::check_argument<Xs>());
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Carry&, const Xs&>>;
  using Y = std::remove_cvref_t<typename Result::second_type>;
  const Arrays elements = tree::leaves(xs);
  std::optional<Y> y;
  api_detail::FlatLoop loop;
  loop.length = api_detail::steps_of("scan", options.length, elements);
  loop.reverse = options.reverse;
  loop.unroll = options.unroll;
  loop.checkpoints = options.checkpoint;
  loop.xs_paths = tree::paths(xs);
  const auto step = [&](const Carry& c, std::span<const Array> in) {
    const Result result = f(c, tree::with_leaves(xs, in));
    y = result.second;
    if (!api_detail::lists_of(*y).empty()) api_detail::throw_list_in_ys();
    return Carry(result.first);
  };
  const Carry init = api_detail::with_types_of_lists("scan", start, loop, elements, step);
  const api_detail::ListTypes types = api_detail::types_of_lists(init);
  const Arrays carries = tree::leaves(init);
  loop.carry_paths = tree::paths(init);
  const auto body = [&](std::span<const Array> in) {
    Carry next = step(tree::with_leaves(init, in.first(carries.size())), in.subspan(carries.size()));
    Arrays out = tree::leaves(api_detail::next_carry("scan", types, init, std::move(next)));
    const Arrays ys = tree::leaves(*y);
    out.insert(out.end(), ys.begin(), ys.end());
    return out;
  };
  loop.body = FlatFunction(body);
  const Arrays results = api_detail::run_loop("scan", loop, carries, elements);
  const std::span<const Array> all(results);
  return std::pair<Carry, Y>(tree::with_leaves(init, all.first(carries.size())),
                             tree::with_leaves(*y, all.subspan(carries.size())));
}

// f of each element along axis 0, results stacked.
//   tn::map([](Array row) { return tn::sum(row); }, Array{{1.f, 2.f}, {3.f, 4.f}})   // 3 7
template <class F, class Xs>
auto map(F f, const Xs& xs, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "map");
  return scan([&](const std::tuple<>& c, const Xs& x) { return std::pair(c, f(x)); }, std::tuple<>(), xs, {}, where)
      .second;
}

struct WhileOptions {
  // How many carries reverse mode keeps, however many steps there will be; it records as many steps at once, and runs
  // the others again, few times each, as with binomial(). Absent: it keeps what each step computes and others need.
  std::optional<std::int64_t> checkpoints = {};
};

// body while cond holds; both take the carry. An array of the carry keeps its dtype, and its shape but for sizes that
// data decide in the body, compress(x, x > mean(x)): each step has those of the step before. So do those of scan and
// fori_loop, and the results of branches.
//   tn::while_loop([](Array x) { return x < 100.f; }, [](Array x) { return x * 2.f; }, Array(3.f))   // 192
template <class Cond, class Body, class Carry>
Carry while_loop(Cond cond, Body body, const Carry& start, WhileOptions options = {},
                 const Source& where = std::source_location::current()) {
  const SourceScope place(where, "while_loop");
  static_assert(tree_detail::check_argument<Carry>());
  api_detail::FlatLoop loop;
  if (options.checkpoints)
    loop.checkpoints = api_detail::checkpoints("while_loop", CheckpointKind::binomial, *options.checkpoints);
  const auto step = [&](const Carry& c, std::span<const Array>) { return Carry(body(c)); };
  const Carry init = api_detail::with_types_of_lists("while_loop", start, loop, {}, step);
  const api_detail::ListTypes types = api_detail::types_of_lists(init);
  loop.carry_paths = tree::paths(init);
  const auto holds = [&](std::span<const Array> in) { return Arrays{cond(tree::with_leaves(init, in))}; };
  const auto next = [&](std::span<const Array> in) {
    Carry carry = step(tree::with_leaves(init, in), {});
    return tree::leaves(api_detail::next_carry("while_loop", types, init, std::move(carry)));
  };
  loop.cond = FlatFunction(holds), loop.body = FlatFunction(next);
  return tree::with_leaves(init, api_detail::run_loop("while_loop", loop, tree::leaves(init), {}));
}

// Several carries: body takes them all, returns the next of the first, and changes the others in place; so does the
// loop, when it ends.
//   tn::List<Array> path;
//   Array end = tn::while_loop([](Array x, auto&) { return x < 10.f; },
//                              [](Array x, auto& path) { path.push(x); return x * 2.f; }, Array(3.f), path);
//   path.stack()   // 3 6
template <class Cond, class Body, class Carry, class... Others>
  requires(sizeof...(Others) > 0)
Carry while_loop(Cond cond, Body body, const Carry& init, const std::tuple<Others&...>& others,
                 WhileOptions options = {}, const Source& where = std::source_location::current()) {
  using All = std::tuple<Carry, Others...>;
  const auto run = [](auto& f, All& all) { return std::apply([&](auto&... each) { return f(each...); }, all); };
  const All all = while_loop(
      [&](const All& c) {
        All copy(c);
        return run(cond, copy);
      },
      [&](const All& c) {
        All next(c);
        Carry first(run(body, next));
        std::get<0>(next) = std::move(first);
        return next;
      },
      std::apply([&](const Others&... each) { return All(init, each...); }, others), options, where);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((std::get<I>(others) = std::get<I + 1>(all)), ...);
  }(std::index_sequence_for<Others...>());
  return std::get<0>(all);
}
template <class Cond, class Body, class Carry, class Other>
  requires(!std::is_const_v<Other> && !std::is_same_v<Other, WhileOptions>)
Carry while_loop(Cond cond, Body body, const Carry& init, Other& other, WhileOptions options = {},
                 const Source& where = std::source_location::current()) {
  return while_loop(std::move(cond), std::move(body), init, std::tie(other), options, where);
}

struct ForiOptions {
  // Which carries reverse mode keeps: every(k) or binomial(n); where a bound is an array, binomial(n). Absent: what
  // each step computes and others need.
  std::optional<Checkpoints> checkpoint = {};
};

// body(i, carry) for i from lower to upper - 1; bounds are numbers or integer arrays. i has their dtype: i32, or i64
// where one of them is i64 or does not fit.
//   tn::fori_loop(0, 4, [](Array i, Array c) { return c + i; }, Array(10))   // 16
template <class Body, class Carry>
Carry fori_loop(const Operand& lower, const Operand& upper, Body body, const Carry& start, ForiOptions options = {},
                const Source& where = std::source_location::current()) {
  const SourceScope place(where, "fori_loop");
  static_assert(tree_detail::check_argument<Carry>());
  const api_detail::ForiBounds bounds = api_detail::fori_bounds(lower, upper);
  const Array one(Scalar(1).convert(bounds.lower.dtype()));
  api_detail::FlatLoop loop;
  loop.checkpoints = options.checkpoint;
  const Carry init =
      api_detail::with_types_of_lists("fori_loop", start, loop, {bounds.lower},
                                      [&](const Carry& c, std::span<const Array> i) { return Carry(body(i[0], c)); });
  const api_detail::ListTypes types = api_detail::types_of_lists(init);
  loop.carry_paths = tree::paths(init);
  const auto step = [&](const Array& i, std::span<const Array> carry) {
    Carry next(body(i, tree::with_leaves(init, carry)));
    return tree::leaves(api_detail::next_carry("fori_loop", types, init, std::move(next)));
  };
  Arrays carries = tree::leaves(init);
  if (bounds.count && tracing()) {  // derivatives need not keep the numbers of the steps
    loop.xs_paths = {""};
    loop.length = *bounds.count;
    const auto at_index = [&](std::span<const Array> in) { return step(in.back(), in.first(in.size() - 1)); };
    loop.body = FlatFunction(at_index);
    const Arrays indices{arange(*bounds.count, bounds.lower.dtype()) + bounds.lower};
    return tree::with_leaves(init, api_detail::run_loop("fori_loop", loop, std::move(carries), indices));
  }
  loop.carry_paths.push_back("i");
  carries.push_back(bounds.lower);
  const auto holds = [&](std::span<const Array> in) {
    const SourceScope inside(where);
    return Arrays{in.back() < bounds.upper};
  };
  const auto counted = [&](std::span<const Array> in) {
    Arrays next = step(in.back(), in.first(in.size() - 1));
    const SourceScope inside(where);
    next.push_back(in.back() + one);
    return next;
  };
  loop.body = FlatFunction(counted);
  if (bounds.count)
    loop.length = *bounds.count;
  else
    loop.cond = FlatFunction(holds);
  return tree::with_leaves(init, api_detail::run_loop("fori_loop", loop, std::move(carries), {}));
}

// on_true(args…) where the predicate, one bool, holds, else on_false(args…). Only the branch taken runs. Under vmap
// with a predicate a lane both are computed in all lanes: an infinite derivative of what a lane does not take does not
// reach its gradient, but what is infinite there itself does where a product sums it over lanes that share the other
// factor.
//   tn::cond(Array(true), [](Array x) { return x + 1; }, [](Array x) { return -x; }, Array(5))   // 6
template <class T, class F, class... Args>
auto cond(const Operand& predicate, T on_true, F on_false, const Args&... args) {
  const SourceScope place(predicate.where(), "cond");
  api_detail::ListTypes types;
  api_detail::BranchCall<F, Args...> no(types, on_false, args...);
  api_detail::BranchCall<T, Args...> yes(types, on_true, args...);
  static_assert(std::is_same_v<typename decltype(no)::Result, typename decltype(yes)::Result>,
                "cond: the branches return different types of trees");
  const std::array<FlatFunction, 2> branches{no, yes};
  const Arrays results = api_detail::run_cond("cond", convert(predicate, DType::i32), branches, no.arguments(), [&] {
    if (no.lacks_type()) return false;
    tree::require_same("cond", "the results of the branches", yes.result(), no.result());
    return true;
  });
  return no.rebuild(results);
}

// branches[index](args…) for one integer; an index outside takes the nearest branch. Only the branch taken runs. Throws
// ShapeError or DTypeError where the index is not one integer, TreeError where the branches' results differ as trees.
//
//   tn::switch_case(1, std::tuple([](Array x) { return tn::sin(x); }, [](Array x) { return x * x; }),
//                   Array(3.f))   // 9
template <class First, class... More, class... Args>
auto switch_case(const Operand& index, std::tuple<First, More...> branches, const Args&... args) {
  const SourceScope place(index.where(), "switch_case");
  return std::apply(
      [&](First& first, More&... more) {
        api_detail::ListTypes types;
        api_detail::BranchCall<First, Args...> held(types, first, args...);
        const auto others =
            std::tuple(std::make_unique<api_detail::BranchCall<More, Args...>>(types, more, args...)...);
        using Result = typename decltype(held)::Result;
        static_assert((std::is_same_v<Result, api_detail::ResultOf<More, Args...>> && ...),
                      "switch_case: the branches return different types of trees");
        std::vector<FlatFunction> functions{held};
        std::apply([&](const auto&... other) { (functions.emplace_back(*other), ...); }, others);
        const auto settled = [&] {
          if (held.lacks_type() ||
              std::apply([](const auto&... other) { return (other->lacks_type() || ...); }, others))
            return false;
          const auto same = [&](const auto& other) {
            tree::require_same("switch_case", "the results of the branches", held.result(), other->result());
          };
          std::apply([&](const auto&... other) { (same(other), ...); }, others);
          return true;
        };
        const Array number = api_detail::branch_number(index, functions.size());
        return held.rebuild(api_detail::run_cond("switch_case", number, functions, held.arguments(), settled));
      },
      branches);
}

struct AssociativeScanOptions {
  bool reverse = false;
  std::int64_t axis = 0;
};

// All prefixes x[0], f(x[0], x[1]), f(f(x[0], x[1]), x[2]), … along an axis of the leaves of xs, for an associative f
// of two trees like xs, which is applied to many elements at once (element by element along that axis). In parallel:
// about 2·log2(n) calls of f, on 2·n elements in all. `reverse`: all suffixes, f(x[n-1], x[n-2]) and on. The order of
// operations differs from a loop's, and so do roundings. Throws ShapeError where the axis is missing or symbolic, where
// its sizes differ, or where f changes a shape.
//
//   tn::associative_scan([](Array a, Array b) { return a + b; }, Array{1.f, 2.f, 3.f})   // 1 3 6
template <class F, class Xs>
Xs associative_scan(F f, const Xs& xs, AssociativeScanOptions options = {},
                    const Source& where = std::source_location::current()) {
  const SourceScope place(where, "associative_scan");
  const std::size_t leaves = tree::leaves(xs).size();
  const auto flat = [&](std::span<const Array> in) {
    const Xs result = f(tree::with_leaves(xs, in.first(leaves)), tree::with_leaves(xs, in.subspan(leaves)));
    tree::require_same("associative_scan", "xs and what the function returns", xs, result);
    return tree::leaves(result);
  };
  return tree::with_leaves(
      xs, api_detail::scan_associative(flat, tree::leaves(xs), options.axis, options.reverse, tree::paths(xs)));
}

}  // namespace tenon
