// Signature: what one specialisation of a function was made for: the types of the leaves, and all that is static.
#pragma once

#include <cstring>

#include "tenon/api/tree.h"

namespace tenon::api_detail {

// The type of one leaf, in the form that a call compares it.
class LeafType {
 public:
  explicit LeafType(const Array& a);
  bool matches(const Array& a) const {
    const Buffer* b = a.buffer();
    if (b == nullptr) [[unlikely]]
      return matches_other(a);
    if (b->dtype() != type_.dtype || b->rank() != dims_.size() || a.weak() != weak_ || !plain_) return false;
    const std::int64_t* sizes = b->dims().data();
    for (std::size_t i = 0; i < dims_.size(); ++i)
      if (sizes[i] != dims_[i]) return false;
    return true;
  }
  const Type& type() const { return type_; }
  bool weak() const { return weak_; }
  bool symbolic() const { return !leaf().shape.known(); }

 private:
  bool matches_other(const Array& a) const;
  const Type& leaf() const {
    const Type* t = &type_;
    while (!t->is_array()) t = t->element.get();
    return *t;
  }
  Type type_;
  std::vector<std::int64_t> dims_;
  bool weak_, plain_;
};

// Static values of which the type counts here, as of an array: mutable references.
template <class T>
concept ByType = requires(const T& value, Hasher& hasher) { value.hash_type(hasher); };

// Static values one behind the other. Trees of one C++ type whose static values agree have the same structure: sizes of
// containers are among them.
class StaticValues {
 public:
  template <class T>
  void add(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      add(value.size());
      bytes_.insert(bytes_.end(), value.begin(), value.end());
    } else if constexpr (std::is_same_v<T, tree::Held>) {
      add(value.count);
    } else if constexpr (tree_detail::Comparable<T> || ByType<T>) {
      const Hash128 hash = hash_of(value);
      add(hash.low), add(hash.high);
    } else {
      static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
                    "a static value, or the key of a map, is a number, an enumeration or a string");
      const auto* from = reinterpret_cast<const char*>(&value);
      bytes_.insert(bytes_.end(), from, from + sizeof value);
    }
  }
  // Whether the value stands at a position; moves it behind.
  template <class T>
  bool next(std::size_t& at, const T& value) const {
    if constexpr (std::is_same_v<T, std::string>)
      return next(at, value.size()) && same(at, value.data(), value.size());
    else if constexpr (std::is_same_v<T, tree::Held>)
      return same(at, &value.count, sizeof value.count);
    else if constexpr (tree_detail::Comparable<T>)
      return next(at, hash_of(value).low) && next(at, hash_of(value).high);
    else
      return same(at, &value, sizeof value);
  }
  bool ends_at(std::size_t at) const { return at == bytes_.size(); }
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  template <class T>
  static Hash128 hash_of(const T& value) {
    Hasher h;
    if constexpr (ByType<T>)
      value.hash_type(h);
    else
      value.hash(h);
    return h.finish();
  }
  bool same(std::size_t& at, const void* value, std::size_t size) const {
    if (size > bytes_.size() - at || std::memcmp(bytes_.data() + at, value, size) != 0) return false;  // by bits
    at += size;
    return true;
  }
  std::vector<char> bytes_;
};

class Signature {
 public:
  // Of arguments, or of any tree.
  template <class T>
  static Signature of(const T& tree) {
    Signature s;
    tree::visit(
        tree, [&](const Array& a, auto) { s.leaves_.emplace_back(a); },
        [&](const auto& fixed) { s.fixed_.add(fixed); });
    return s;
  }
  // Of leaves alone: where the caller compares structure and static values by itself.
  static Signature of_leaves(std::span<const Array> leaves);
  // Cheap and equal for trees that match the same signature.
  template <class T>
  static std::uint64_t hash(const T& tree) {
    Hasher h;
    tree::visit(
        tree, [&](const Array& a, auto) { hash_leaf(a, h); },
        [&]<class Fixed>(const Fixed& fixed) {
          if constexpr (ByType<Fixed>)
            fixed.hash_type(h);
          else
            tree::hash_fixed(fixed, h);
        });
    return h.finish().low;
  }

  // Whether a tree is of this signature; the addresses of its leaves go to `leaves`, which has room for all of ours.
  template <class T>
  bool matches(const T& tree, const Array** leaves) const {
    const LeafType *leaf = leaves_.data(), *end = leaf + leaves_.size();
    std::size_t at = 0;
    bool same = true;
    tree::visit(
        tree,
        [&](const Array& a, auto) {
          if (leaf == end || !same) {
            same = false;
            return;
          }
          same = leaf++->matches(a);
          *leaves++ = &a;
        },
        [&](const auto& fixed) { same = same && fixed_.next(at, fixed); });
    return same && leaf == end && fixed_.ends_at(at);
  }

  std::span<const LeafType> leaves() const { return leaves_; }
  const StaticValues& fixed() const { return fixed_; }

 private:
  static void hash_leaf(const Array& a, Hasher& h);
  std::vector<LeafType> leaves_;
  StaticValues fixed_;
};

}  // namespace tenon::api_detail
