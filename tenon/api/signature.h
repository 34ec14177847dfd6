// Signature: what one specialisation of a function was made for: the types of the leaves, and all that is static.
#pragma once

#include <cstring>

#include "tenon/api/sizes.h"
#include "tenon/api/tree.h"

namespace tenon::api_detail {

// The type of one leaf, in the form that a call compares it.
class LeafType {
 public:
  // Whether it can be the value of a variable.
  static bool varies(std::int64_t size) { return size >= AnySizes::least && size <= AnySizes::most; }
  explicit LeafType(const Array& a);
  // One for any size of at least 2 in the axes of these variables.
  LeafType(const Array& a, std::uint32_t number, const SizeVariables& variables);
  // Whether sizes that are the same variable agree, is asked of all leaves together.
  bool matches(const Array& a) const {
    const Buffer* b = a.buffer();
    if (b == nullptr) [[unlikely]]
      return matches_other(a);
    if (b->dtype() != type_.dtype || b->rank() != dims_.size() || a.weak() != weak_ || !plain_) return false;
    const std::int64_t* sizes = b->dims().data();
    for (std::size_t i = 0; i < dims_.size(); ++i)
      if (sizes[i] != dims_[i] && (dims_[i] != any || !varies(sizes[i]))) return false;
    return true;
  }
  const Type& type() const { return type_; }
  bool weak() const { return weak_; }
  bool operator==(const LeafType& b) const { return weak_ == b.weak_ && type_ == b.type_; }

 private:
  static constexpr std::int64_t any = -1;
  bool matches_other(const Array& a) const;
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
  // The same for any sizes in the axes of these variables.
  Signature with_sizes(std::span<const Array> leaves, SizeVariables sizes) const;
  // Cheap and equal for trees that match the same signature.
  static std::uint64_t hash(const tree::View& tree);
  // The same for trees that differ in sizes of at least 2.
  static std::uint64_t form_hash(const tree::View& tree);

  // Whether a tree is of this signature; the addresses of its leaves go to `leaves`, which has room for all of ours.
  bool matches(const tree::View& tree, const Array** leaves) const;

  // Whether leaves that match one by one do so together.
  bool sizes_agree(const Array* const* leaves) const { return sizes_.empty() || sizes_.agree(leaves); }
  // The values of the variables.
  void measure(const Array* const* leaves, std::int64_t* to) const {
    for (const auto& axes : sizes_.axes) *to++ = leaves[axes[0].leaf]->buffer()->dims()[axes[0].axis];
  }

  std::span<const LeafType> leaves() const { return leaves_; }
  const StaticValues& fixed() const { return fixed_; }
  const SizeVariables& sizes() const { return sizes_; }
  bool operator==(const Signature&) const = default;

 private:
  std::vector<LeafType> leaves_;
  StaticValues fixed_;
  SizeVariables sizes_;
};

}  // namespace tenon::api_detail
