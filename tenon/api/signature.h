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
  bool operator==(const LeafType& b) const { return weak_ == b.weak_ && type_ == b.type_; }

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

// Static values one behind the other. Trees of one C++ type whose static values agree have the same structure: sizes of
// containers are among them.
class StaticValues {
 public:
  void add(const tree::Static& value);
  // Whether the value stands at a position; moves it behind.
  bool next(std::size_t& at, const tree::Static& value) const;
  bool ends_at(std::size_t at) const { return at == bytes_.size(); }
  bool operator==(const StaticValues&) const = default;

 private:
  std::vector<char> bytes_;  // of each value its size and its bits
};

class Signature {
 public:
  // Of arguments, or of any tree.
  static Signature of(const tree::View& tree);
  // Of leaves alone: where the caller compares structure and static values by itself.
  static Signature of_leaves(std::span<const Array> leaves);
  // Cheap and equal for trees that match the same signature.
  static std::uint64_t hash(const tree::View& tree);

  // Whether a tree is of this signature; the addresses of its leaves go to `leaves`, which has room for all of ours.
  bool matches(const tree::View& tree, const Array** leaves) const;

  std::span<const LeafType> leaves() const { return leaves_; }
  const StaticValues& fixed() const { return fixed_; }
  bool operator==(const Signature&) const = default;

 private:
  std::vector<LeafType> leaves_;
  StaticValues fixed_;
};

}  // namespace tenon::api_detail
