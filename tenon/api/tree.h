// Trees: any aggregate, container or tuple of Arrays, without macros. Arrays are the leaves; all else is static.
#pragma once

#include <array>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/api/fields.h"
#include "tenon/base/hash.h"
#include "tenon/ir/array.h"

namespace tenon {

namespace tree_detail {

// Converts to anything, but for itself: what counts the fields of an aggregate.
struct Anything {
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Anything>)
  operator T() const;
};
template <std::size_t>
using AnythingAt = Anything;

template <class T, class Sequence>
inline constexpr bool brace_constructible = false;
template <class T, std::size_t... I>
inline constexpr bool brace_constructible<T, std::index_sequence<I...>> = requires { T{AnythingAt<I>()...}; };

// The largest number of initialisers that the aggregate takes: one a field, but one an element of a C array, whose
// braces may be left out.
template <class T, std::size_t N = 0>
consteval std::size_t count_initialisers() {
  if constexpr (brace_constructible<T, std::make_index_sequence<N + 1>>)
    return count_initialisers<T, N + 1>();
  else
    return N;
}

// As above, where one field in the middle has its own braces with Inside.
template <class T, class Before, class Inside, class After>
inline constexpr bool nested_constructible = false;
template <class T, std::size_t... B, std::size_t... I, std::size_t... A>
inline constexpr bool
    nested_constructible<T, std::index_sequence<B...>, std::index_sequence<I...>, std::index_sequence<A...>> =
        requires { T{AnythingAt<B>()..., {AnythingAt<I>()...}, AnythingAt<A>()...}; };
template <class T, std::size_t Before, std::size_t Inside, std::size_t After>
inline constexpr bool nested = nested_constructible<T, std::make_index_sequence<Before>,
                                                    std::make_index_sequence<Inside>, std::make_index_sequence<After>>;

// How many of N initialisers belong to the field that the initialiser number At begins: the elements of a C array, else
// one. Braces around so many, and only so many, leave no room for more behind them than they had.
template <class T, std::size_t N, std::size_t At, std::size_t Elements = 2>
consteval std::size_t initialisers_of_field() {
  if constexpr (At + Elements > N || nested<T, At, 0, N - At - 1>)
    return 1;
  else if constexpr (nested<T, At, Elements, N - At - Elements> && !nested<T, At, Elements, N - At - Elements + 1>)
    return Elements;
  else
    return initialisers_of_field<T, N, At, Elements + 1>();
}

template <class T, std::size_t N = count_initialisers<T>(), std::size_t At = 0>
consteval std::size_t count_fields() {
  if constexpr (At >= N)
    return 0;
  else
    return 1 + count_fields<T, N, At + initialisers_of_field<T, N, At>()>();
}

// Converts to a base of T: what the first initialiser of an aggregate is, where it has bases.
template <class T>
struct BaseOf {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  operator B() const;
};
template <class T>
concept WithBase = requires { T{BaseOf<T>()}; };

template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class K, class V, class C, class A>
inline constexpr bool is_map<std::map<K, V, C, A>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

// Static values of other types than numbers: compared and hashed, as Dim is.
template <class T>
concept Comparable = requires(const T& value, Hasher& hasher) {
  value.hash(hasher);
  { value == value } -> std::convertible_to<bool>;
  { value.text() } -> std::convertible_to<std::string>;
};
template <class T>
concept StaticValue = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> || Comparable<T>;

// A tree is given other leaves in place: its fields can be written, unless they are static.
template <class Tree, class Field>
constexpr void check_field() {
  static_assert(std::is_const_v<Tree> || !std::is_const_v<Field> || StaticValue<std::remove_const_t<Field>>,
                "a const field of a tree cannot be given other arrays: take its const away, or leave it out of the "
                "TENON_TREE that describes the tree");
}

// Arguments and results of functions that are transformed: copied into traces and out of them.
template <class T>
constexpr bool check_argument() {
  static_assert(std::is_copy_constructible_v<T>,
                "an argument is a tree that cannot be copied: hold its move-only fields by std::shared_ptr, and leave "
                "those out of the TENON_TREE that describes it");
  return true;
}
template <class T>
constexpr bool check_result() {
  static_assert(std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>,
                "a function returns a tree that cannot be copied and assigned: make its const fields plain or static "
                "constexpr, hold move-only ones by std::shared_ptr, and leave those out of the TENON_TREE that "
                "describes it");
  return true;
}

}  // namespace tree_detail

// Opt-in description, for types with constructors, bases or private fields, and for errors that name the fields:
// TENON_TREE(Model, weights, bias) in the class; inherited fields are listed with its own. Types that are described
// with Boost.Describe need no more than tenon/describe.h.
#define TENON_TREE(Type, ...)                                 \
  auto tenon_fields() { return std::tie(__VA_ARGS__); }       \
  auto tenon_fields() const { return std::tie(__VA_ARGS__); } \
  static constexpr const char* tenon_field_names() { return #__VA_ARGS__; }

namespace tree {

[[noreturn]] void throw_too_few_leaves(std::size_t given);

// How the fields of a described type are found: tie(value) gives references to them, names() "weights, bias". For types
// that cannot be changed, specialise it.
template <class T>
struct Fields;
template <class T>
  requires requires(T& value) { value.tenon_fields(); }
struct Fields<T> {
  static auto tie(T& value) { return value.tenon_fields(); }
  static auto tie(const T& value) { return value.tenon_fields(); }
  static constexpr const char* names() { return T::tenon_field_names(); }
};
template <class T>
concept Described = requires(T& value) { Fields<T>::tie(value); };

// The way to a leaf, built only where it is asked for.
struct NoPath {};
inline NoPath step(NoPath, const char*, std::size_t, const char*) { return {}; }
inline std::string step(const std::string& path, const char* before, std::size_t i, const char* behind) {
  return path + before + std::to_string(i) + behind;
}
// The same by numbers: of the field or element taken at each step.
using Place = std::vector<std::size_t>;
inline Place step(Place place, const char*, std::size_t i, const char*) {
  place.push_back(i);
  return place;
}
inline NoPath field(NoPath, const char*, std::size_t) { return {}; }
inline Place field(Place place, const char*, std::size_t i) { return step(std::move(place), "", i, ""); }
std::string field(const std::string& path, const char* names, std::size_t i);  // the i-th of "weights, bias"
template <class Key>
NoPath entry(NoPath, const Key&, std::size_t) {
  return {};
}
template <class Key>
Place entry(Place place, const Key&, std::size_t i) {
  return step(std::move(place), "", i, "");
}
template <class Key>
std::string entry(const std::string& path, const Key& key, std::size_t) {
  if constexpr (std::is_arithmetic_v<Key>)
    return path + "[" + std::to_string(key) + "]";
  else if constexpr (std::is_convertible_v<Key, std::string>)
    return path + "[\"" + std::string(key) + "\"]";
  else
    return path + "[…]";
}

// What is static of a container: how many elements it has; whether there is a value; which alternative is held.
struct Held {
  enum class What : std::uint8_t { elements, value, alternative } what;
  std::size_t count;
  bool operator==(const Held&) const = default;
  void hash(Hasher& hasher) const { hasher(count); }
  std::string text() const;  // "3 elements", "no value", "alternative 1"
};

// Calls leaf(array, path) for each Array in order, and fixed(value, path), or fixed(value), for what is static: sizes
// of containers, keys, numbers, strings, enumerations.
template <class T, class Leaf, class Fixed, class Path = NoPath>
void visit(T& value, Leaf&& leaf, Fixed&& fixed, const Path& path = {}) {
  namespace d = tree_detail;
  using U = std::remove_const_t<T>;
  const auto is_static = [&](const auto& v) {
    if constexpr (std::is_invocable_v<Fixed&, decltype(v), const Path&>)
      fixed(v, path);
    else
      fixed(v);
  };
  const auto container = [&](Held held) {
    if constexpr (requires { fixed.container(value, path); })
      fixed.container(value, path);
    else
      is_static(held);
  };
  const auto fields = [&](auto&& all, const char* names) {
    std::size_t i = 0;
    std::apply(
        [&](auto&... each) {
          (d::check_field<T, std::remove_reference_t<decltype(each)>>(), ...);
          (visit(each, leaf, fixed, field(path, names, i++)), ...);
        },
        all);
  };
  if constexpr (std::is_same_v<U, Array>) {
    leaf(value, path);
  } else if constexpr (std::is_same_v<U, std::vector<bool>>) {
    is_static(Held{Held::What::elements, value.size()});
    for (const bool item : value) is_static(item);
  } else if constexpr (d::is_std_array<U> || std::is_array_v<U> || d::is_vector<U>) {
    if constexpr (d::is_vector<U>) container(Held{Held::What::elements, value.size()});
    for (std::size_t i = 0; i < std::size(value); ++i) visit(value[i], leaf, fixed, step(path, "[", i, "]"));
  } else if constexpr (d::is_map<U>) {
    container(Held{Held::What::elements, value.size()});
    std::size_t i = 0;
    for (auto& [key, item] : value) {
      visit(key, leaf, fixed, entry(path, key, i));
      visit(item, leaf, fixed, entry(path, key, i++));
    }
  } else if constexpr (d::is_optional<U>) {
    container(Held{Held::What::value, value.has_value()});
    if (value) visit(*value, leaf, fixed, path);
  } else if constexpr (d::is_variant<U>) {
    is_static(Held{Held::What::alternative, value.index()});
    std::visit([&](auto& held) { visit(held, leaf, fixed, path); }, value);
  } else if constexpr (d::is_tuple<U>) {
    std::size_t i = 0;
    std::apply([&](auto&... items) { (visit(items, leaf, fixed, step(path, "<", i++, ">")), ...); }, value);
  } else if constexpr (Described<U>) {
    fields(Fields<U>::tie(value), Fields<U>::names());
  } else if constexpr (d::StaticValue<U>) {
    is_static(value);
  } else {
    static_assert(std::is_aggregate_v<U>,
                  "this field is neither an Array, a container or aggregate of trees, nor a static value that can be "
                  "compared (number, enumeration, string): describe its type with TENON_TREE, or leave it out");
    static_assert(!d::WithBase<U>,
                  "an aggregate with a base: list its fields and those of its base with TENON_TREE in it, or describe "
                  "both with Boost.Describe and include tenon/describe.h");
    if constexpr (std::is_aggregate_v<U> && !d::WithBase<U>) fields(d::tie_fields<d::count_fields<U>()>(value), "");
  }
}

template <class T>
Arrays leaves(const T& value) {
  Arrays result;
  visit(value, [&](const Array& a, auto) { result.push_back(a); }, [](const auto&) {});
  return result;
}

template <class T>
std::size_t count(const T& value) {
  std::size_t leaves = 0;
  visit(value, [&](const Array&, auto) { ++leaves; }, [](const auto&) {});
  return leaves;
}

template <class T>
std::vector<Place> places(const T& value) {
  std::vector<Place> result;
  visit(value, [&](const Array&, const Place& place) { result.push_back(place); }, [](const auto&) {}, Place());
  return result;
}

template <class T>
std::vector<std::string> paths(const T& value) {
  std::vector<std::string> result;
  visit(
      value, [&](const Array&, const std::string& path) { result.push_back(path); }, [](const auto&) {}, std::string());
  return result;
}

// The same tree with other leaves, taken from `leaves` on; static fields are copied. Returns how many were taken.
// Throws TreeError where there are too few.
template <class T>
std::size_t assign(T& value, std::span<const Array> leaves) {
  std::size_t at = 0;
  visit(
      value,
      [&](Array& a, auto) {
        if (at == leaves.size()) throw_too_few_leaves(leaves.size());
        a = leaves[at++];
      },
      [](const auto&) {});
  return at;
}

template <class T>
T with_leaves(T value, std::span<const Array> leaves) {
  assign(value, leaves);
  return value;
}

template <class T>
void hash_fixed(const T& fixed, Hasher& hasher) {
  if constexpr (std::is_same_v<T, std::string>)
    hasher(std::string_view(fixed));
  else if constexpr (std::is_floating_point_v<T>)
    hasher(static_cast<double>(fixed));
  else if constexpr (tree_detail::Comparable<T>)
    fixed.hash(hasher);
  else
    hasher(fixed);
}

// What is static in a tree, as a hash: equal for trees of one structure.
template <class T>
void hash_structure(const T& value, Hasher& hasher) {
  visit(value, [&](const Array&, auto) { hasher(1); }, [&](const auto& fixed) { hash_fixed(fixed, hasher); });
}

// What a tree is without the arrays in its leaves: places, each with what is static there. Trees of one structure are
// equal in it.
class Structure {
 public:
  void add(std::string path, std::string what) { entries_.emplace_back(std::move(path), std::move(what)); }
  bool operator==(const Structure&) const = default;
  std::size_t leaves() const;
  std::string text() const;  // "{.w: *, .layers[0].b: *, .rate: 0.5}"
  // Where they first differ, as in "at .rate: 0.5 and 0.25"; empty where they do not.
  std::string difference(const Structure& other) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

std::string fixed_text(double value);
template <class T>
Structure structure(const T& value) {
  Structure result;
  visit(
      value, [&](const Array&, const std::string& path) { result.add(path, "*"); },
      [&](const auto& fixed, const std::string& path) {
        using U = std::remove_cvref_t<decltype(fixed)>;
        if constexpr (std::is_same_v<U, std::string>)
          result.add(path, '"' + fixed + '"');
        else if constexpr (std::is_floating_point_v<U>)
          result.add(path, fixed_text(static_cast<double>(fixed)));
        else if constexpr (std::is_enum_v<U>)
          result.add(path, std::to_string(static_cast<std::int64_t>(fixed)));
        else if constexpr (tree_detail::Comparable<U>)
          result.add(path, fixed.text());
        else
          result.add(path, std::to_string(fixed));
      },
      std::string());
  return result;
}

[[noreturn]] void throw_difference(std::string_view op, std::string_view what, const Structure& a, const Structure& b);
// Throws TreeError, which names the place, where the trees differ in structure: "op: what differ …".
template <class A, class B>
void require_same(std::string_view op, std::string_view what, const A& a, const B& b) {
  Hasher first, second;
  hash_structure(a, first);
  hash_structure(b, second);
  if (first.finish() != second.finish()) throw_difference(op, what, structure(a), structure(b));
}

// f of each leaf (of the leaves in the same place of several trees of one structure). Of more than five trees the
// caller gives the place, which a function of any number of arguments cannot find by itself.
template <class F, class T, class... More>
T map(const Source& where, F&& f, T first, const More&... more) {
  {
    const SourceScope place(where, "tree::map");
    (require_same("tree::map", "the trees", first, more), ...);
  }
  const std::array<Arrays, sizeof...(More)> others{leaves(more)...};
  std::size_t at = 0;
  visit(
      first,
      [&](Array& a, auto) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          a = f(a, others[I][at]...);
        }(std::index_sequence_for<More...>());
        ++at;
      },
      [](const auto&) {});
  return first;
}
template <class F, class T>
T map(F&& f, T first, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first));
}
template <class F, class T, class A>
T map(F&& f, T first, const A& a, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a);
}
template <class F, class T, class A, class B>
T map(F&& f, T first, const A& a, const B& b, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a, b);
}
template <class F, class T, class A, class B, class C>
T map(F&& f, T first, const A& a, const B& b, const C& c, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a, b, c);
}
template <class F, class T, class A, class B, class C, class D>
T map(F&& f, T first, const A& a, const B& b, const C& c, const D& d,
      const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a, b, c, d);
}

// f(f(f(initial, leaf 0), leaf 1), …), in the order of the leaves.
template <class F, class Result, class T>
Result reduce(F&& f, Result initial, const T& tree) {
  visit(tree, [&](const Array& a, auto) { initial = f(std::move(initial), a); }, [](const auto&) {});
  return initial;
}

}  // namespace tree
}  // namespace tenon
