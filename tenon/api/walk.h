// What a tree is, and the one way through it: aggregates are counted and bound without macros, static values are told
// and compared, places have names.
#pragma once

#include <array>
#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
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

// The way to a place by numbers: of the field or element taken at each step.
using Place = std::vector<std::size_t>;

// The way to a place: a chain on the stack of what walks through the tree, told only where it is asked for.
class Path {
 public:
  Path() = default;  // to the tree itself
  static Path element(const Path& before, std::size_t i) { return {before, i, nullptr, element_text}; }
  static Path item(const Path& before, std::size_t i) { return {before, i, nullptr, item_text}; }
  // `names` is "weights, bias", or empty.
  static Path field(const Path& before, const char* names, std::size_t i) { return {before, i, names, field_text}; }
  template <class Key>
  static Path entry(const Path& before, const Key& key, std::size_t i) {
    return {before, i, &key, entry_text<Key>};
  }
  std::string text() const;  // ".layers[2].bias"
  Place place() const;

 private:
  using StepText = std::string(std::size_t number, const void* detail);
  Path(const Path& before, std::size_t number, const void* detail, StepText* text)
      : before_(&before), number_(number), detail_(detail), text_(text) {}
  static StepText element_text, item_text, field_text;
  template <class Key>
  static std::string entry_text(std::size_t, const void* detail) {
    const Key& key = *static_cast<const Key*>(detail);
    if constexpr (std::is_arithmetic_v<Key>)
      return "[" + std::to_string(key) + "]";
    else if constexpr (std::is_convertible_v<Key, std::string>)
      return "[\"" + std::string(key) + "\"]";
    else
      return "[…]";
  }

  const Path* before_ = nullptr;
  std::size_t number_ = 0;
  const void* detail_ = nullptr;
  StepText* text_ = nullptr;
};

// In its stead where nobody asks for it.
struct NoPath {
  static NoPath element(NoPath, std::size_t) { return {}; }
  static NoPath item(NoPath, std::size_t) { return {}; }
  static NoPath field(NoPath, const char*, std::size_t) { return {}; }
  template <class Key>
  static NoPath entry(NoPath, const Key&, std::size_t) {
    return {};
  }
};

// What is static of a container: how many elements it has; whether there is a value; which alternative is held.
struct Held {
  enum class What : std::uint8_t { elements, value, alternative } what;
  std::size_t count;
  bool operator==(const Held&) const = default;
  void hash(Hasher& hasher) const { hasher(count); }
  std::string text() const;  // "3 elements", "no value", "alternative 1"
};

// Static values of which the type counts where functions are called, as of an array: mutable references.
template <class T>
concept ByType = requires(const T& value, Hasher& hasher) { value.hash_type(hasher); };

std::string number_text(double value);

// A static value of a tree, of whatever type, and what is asked of all of them.
class Static {
 public:
  template <class T>
  explicit Static(const T& value) : value_(std::addressof(value)), kind_(&kind<T>) {}

  void hash(Hasher& hasher) const { kind_->hash(value_, hasher); }
  std::string text() const { return kind_->text(value_); }
  // By which calls tell it from others: its bits, or a hash of it, which is put into `room`.
  std::string_view bits(Hash128& room) const { return kind_->bits(value_, room); }
  template <class T>
  const T* as() const {
    return *kind_->type == typeid(T) ? static_cast<const T*>(value_) : nullptr;
  }

 private:
  struct Kind {
    const std::type_info* type;
    void (*hash)(const void*, Hasher&);
    std::string (*text)(const void*);
    std::string_view (*bits)(const void*, Hash128&);
  };
  static std::string_view view(const void* at, std::size_t size) { return {static_cast<const char*>(at), size}; }

  template <class T>
  static void hash_of(const void* at, Hasher& hasher) {
    const T& value = *static_cast<const T*>(at);
    if constexpr (std::is_same_v<T, std::string>)
      hasher(std::string_view(value));
    else if constexpr (std::is_floating_point_v<T>)
      hasher(static_cast<double>(value));
    else if constexpr (tree_detail::Comparable<T>)
      value.hash(hasher);
    else
      hasher(value);
  }
  template <class T>
  static std::string text_of(const void* at) {
    const T& value = *static_cast<const T*>(at);
    if constexpr (std::is_same_v<T, std::string>)
      return '"' + value + '"';
    else if constexpr (std::is_floating_point_v<T>)
      return number_text(static_cast<double>(value));
    else if constexpr (std::is_enum_v<T>)
      return std::to_string(static_cast<std::int64_t>(value));
    else if constexpr (tree_detail::Comparable<T>)
      return value.text();
    else
      return std::to_string(value);
  }
  template <class T>
  static std::string_view bits_of(const void* at, Hash128& room) {
    const T& value = *static_cast<const T*>(at);
    if constexpr (std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_same_v<T, Held>) {
      return view(&value.count, sizeof value.count);
    } else if constexpr (ByType<T> || tree_detail::Comparable<T>) {
      Hasher hasher;
      if constexpr (ByType<T>)
        value.hash_type(hasher);
      else
        value.hash(hasher);
      room = hasher.finish();
      return view(&room, sizeof room);
    } else {
      static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
                    "a static value, or the key of a map, is a number, an enumeration or a string");
      return view(at, sizeof value);
    }
  }
  template <class T>
  static constexpr Kind kind{&typeid(T), hash_of<T>, text_of<T>, bits_of<T>};

  const void* value_;
  const Kind* kind_;
};

// Calls visitor.leaf(array, path) for each Array in order, and visitor.fixed(value, path) for what is static: sizes of
// containers, keys, numbers, strings, enumerations; of a container visitor.container(value, path), if there is one. A
// way is a Path or NoPath.
template <class T, class Visitor, class Way>
void walk(T& value, Visitor& visitor, const Way& path) {
  namespace d = tree_detail;
  using U = std::remove_const_t<T>;
  const auto container = [&](Held held) {
    if constexpr (requires { visitor.container(value, path); })
      visitor.container(value, path);
    else
      visitor.fixed(held, path);
  };
  const auto fields = [&](auto&& all, const char* names) {
    std::size_t i = 0;
    std::apply(
        [&](auto&... each) {
          (d::check_field<T, std::remove_reference_t<decltype(each)>>(), ...);
          (walk(each, visitor, Way::field(path, names, i++)), ...);
        },
        all);
  };
  if constexpr (std::is_same_v<U, Array>) {
    visitor.leaf(value, path);
  } else if constexpr (std::is_same_v<U, std::vector<bool>>) {
    visitor.fixed(Held{Held::What::elements, value.size()}, path);
    for (const bool item : value) visitor.fixed(item, path);
  } else if constexpr (d::is_std_array<U> || std::is_array_v<U> || d::is_vector<U>) {
    if constexpr (d::is_vector<U>) container(Held{Held::What::elements, value.size()});
    for (std::size_t i = 0; i < std::size(value); ++i) walk(value[i], visitor, Way::element(path, i));
  } else if constexpr (d::is_map<U>) {
    container(Held{Held::What::elements, value.size()});
    std::size_t i = 0;
    for (auto& [key, item] : value) {
      const Way there = Way::entry(path, key, i++);
      walk(key, visitor, there);
      walk(item, visitor, there);
    }
  } else if constexpr (d::is_optional<U>) {
    container(Held{Held::What::value, value.has_value()});
    if (value) walk(*value, visitor, path);
  } else if constexpr (d::is_variant<U>) {
    visitor.fixed(Held{Held::What::alternative, value.index()}, path);
    std::visit([&](auto& held) { walk(held, visitor, path); }, value);
  } else if constexpr (d::is_tuple<U>) {
    std::size_t i = 0;
    std::apply([&](auto&... items) { (walk(items, visitor, Way::item(path, i++)), ...); }, value);
  } else if constexpr (Described<U>) {
    fields(Fields<U>::tie(value), Fields<U>::names());
  } else if constexpr (d::StaticValue<U>) {
    visitor.fixed(value, path);
  } else {
    static_assert(std::is_aggregate_v<U> || !std::is_class_v<U>,
                  "a class with constructors, private fields or virtual functions, whose fields cannot be seen: list "
                  "those that are arrays, trees or static in it, TENON_TREE(Model, weights, bias)");
    static_assert(std::is_aggregate_v<U> || std::is_class_v<U>,
                  "this field is neither an Array, a container or aggregate of trees, nor a static value that can be "
                  "compared (number, enumeration, string): describe its type with TENON_TREE, or leave it out");
    static_assert(!d::WithBase<U>,
                  "an aggregate with a base: list its fields and those of its base with TENON_TREE in it, or describe "
                  "both with Boost.Describe and include tenon/describe.h");
    if constexpr (std::is_aggregate_v<U> && !d::WithBase<U>) fields(d::tie_fields<d::count_fields<U>()>(value), "");
  }
}

}  // namespace tree
}  // namespace tenon
