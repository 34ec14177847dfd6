// Trees: any aggregate, container or tuple of Arrays, without macros. Arrays are the leaves; all else is static.
#pragma once

#include <array>
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
  constexpr operator T() const;
};
template <std::size_t>
using AnythingAt = Anything;

template <class T, class Sequence>
inline constexpr bool brace_constructible = false;
template <class T, std::size_t... I>
inline constexpr bool brace_constructible<T, std::index_sequence<I...>> = requires { T{AnythingAt<I>()...}; };

// The largest number of initialisers that the aggregate takes, one a field.
template <class T, std::size_t N = 0>
consteval std::size_t count_fields() {
  if constexpr (brace_constructible<T, std::make_index_sequence<N + 1>>)
    return count_fields<T, N + 1>();
  else
    return N;
}

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

template <class T>
concept Described = requires(T& t) { t.tenon_fields(); };

}  // namespace tree_detail

// Opt-in description, for types with constructors, bases or private fields: TENON_TREE(Model, weights, bias) in the
// class.
#define TENON_TREE(Type, ...)                           \
  auto tenon_fields() { return std::tie(__VA_ARGS__); } \
  auto tenon_fields() const { return std::tie(__VA_ARGS__); }

namespace tree {

// The way to a leaf, built only where it is asked for.
struct NoPath {};
inline NoPath step(NoPath, const char*, std::size_t, const char*) { return {}; }
inline std::string step(const std::string& path, const char* before, std::size_t i, const char* behind) {
  return path + before + std::to_string(i) + behind;
}
inline NoPath step(NoPath, const char*, std::size_t) { return {}; }
inline std::string step(const std::string& path, const char* what, std::size_t) { return path + what; }
// The same by numbers: of the field or element taken at each step.
using Place = std::vector<std::size_t>;
inline Place step(Place place, const char*, std::size_t i, const char* = nullptr) {
  place.push_back(i);
  return place;
}

// Calls leaf(array, path) for each Array in order, and fixed(value) for what is static: sizes of containers, keys,
// numbers.
template <class T, class Leaf, class Fixed, class Path = NoPath>
void visit(T& value, Leaf&& leaf, Fixed&& fixed, const Path& path = {}) {
  namespace d = tree_detail;
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, Array>) {
    leaf(value, path);
  } else if constexpr (d::is_std_array<U> || d::is_vector<U>) {
    if constexpr (d::is_vector<U>) fixed(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) visit(value[i], leaf, fixed, step(path, "[", i, "]"));
  } else if constexpr (d::is_map<U>) {
    fixed(value.size());
    std::size_t i = 0;
    for (auto& [key, item] : value) {
      fixed(key);
      visit(item, leaf, fixed, step(path, "[…]", i++));
    }
  } else if constexpr (d::is_optional<U>) {
    fixed(value.has_value());
    if (value) visit(*value, leaf, fixed, path);
  } else if constexpr (d::is_variant<U>) {
    fixed(value.index());
    std::visit([&](auto& held) { visit(held, leaf, fixed, path); }, value);
  } else if constexpr (d::is_tuple<U>) {
    std::size_t i = 0;
    std::apply([&](auto&... items) { (visit(items, leaf, fixed, step(path, "<", i++, ">")), ...); }, value);
  } else if constexpr (d::Described<U>) {
    std::size_t i = 0;
    std::apply([&](auto&... fields) { (visit(fields, leaf, fixed, step(path, ".", i++, "")), ...); },
               value.tenon_fields());
  } else if constexpr (std::is_arithmetic_v<U> || std::is_enum_v<U> || std::is_same_v<U, std::string>) {
    fixed(value);
  } else if constexpr (std::is_aggregate_v<U>) {
    std::size_t i = 0;
    std::apply([&](auto&... fields) { (visit(fields, leaf, fixed, step(path, ".", i++, "")), ...); },
               d::tie_fields<d::count_fields<U>()>(value));
  } else {
    static_assert(std::is_aggregate_v<U>,
                  "this field is neither an Array, a container or aggregate of trees, nor a static value that can be "
                  "compared (number, enumeration, string): describe its type with TENON_TREE, or leave it out");
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
template <class T>
std::size_t assign(T& value, std::span<const Array> leaves) {
  std::size_t at = 0;
  visit(value, [&](Array& a, auto) { a = leaves[at++]; }, [](const auto&) {});
  return at;
}

template <class T>
T with_leaves(T value, std::span<const Array> leaves) {
  assign(value, leaves);
  return value;
}

// What is static in a tree, as a hash: equal for trees of one structure.
template <class T>
void hash_structure(const T& value, Hasher& hasher) {
  visit(
      value, [&](const Array&, auto) { hasher(1); },
      [&](const auto& fixed) {
        using U = std::remove_cvref_t<decltype(fixed)>;
        if constexpr (std::is_same_v<U, std::string>)
          hasher(std::string_view(fixed));
        else if constexpr (std::is_floating_point_v<U>)
          hasher(static_cast<double>(fixed));
        else
          hasher(fixed);
      });
}

// f of each leaf (of the leaves in the same place of several trees of one structure).
template <class F, class T, class... More>
T map(F&& f, T first, const More&... more) {
  const std::array<Arrays, sizeof...(More)> others{leaves(more)...};
  const std::size_t count = leaves(first).size();
  for (const Arrays& other : others)
    if (other.size() != count)
      throw TreeError("tree::map: the trees differ in structure.", "Give trees with the same containers and fields.");
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

}  // namespace tree
}  // namespace tenon
