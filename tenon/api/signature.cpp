#include "tenon/api/signature.h"

#include <algorithm>
#include <cstring>

namespace tenon::api_detail {

LeafType::LeafType(const Array& a) : type_(a.type()), weak_(a.weak()), plain_(type_.is_array() && type_.shape.known()) {
  if (plain_) dims_ = type_.shape.sizes();
}

LeafType::LeafType(const Array& a, std::uint32_t number, const SizeVariables& variables) : LeafType(a) {
  for (std::uint32_t axis = 0; axis < dims_.size(); ++axis)
    if (const auto variable = variables.variable({number, axis})) {
      dims_[axis] = any;
      type_.shape[axis] = Dim::variable(*variable);
    }
}

// Numbers, lists and handles of a trace.
bool LeafType::matches_other(const Array& a) const {
  if (a.weak() != weak_) return false;
  if (const Scalar* n = a.number()) return plain_ && dims_.empty() && n->dtype() == type_.dtype;
  return std::ranges::find(dims_, any) == dims_.end() && a.type() == type_;
}

void StaticValues::add(const tree::Static& value) {
  Hash128 room;
  const std::string_view bits = value.bits(room);
  const std::size_t size = bits.size();
  const auto* from = reinterpret_cast<const char*>(&size);
  bytes_.insert(bytes_.end(), from, from + sizeof size);
  bytes_.insert(bytes_.end(), bits.begin(), bits.end());
}

bool StaticValues::next(std::size_t& at, const tree::Static& value) const {
  Hash128 room;
  const std::string_view bits = value.bits(room);
  std::size_t size;
  if (bytes_.size() - at < sizeof size + bits.size()) return false;
  std::memcpy(&size, bytes_.data() + at, sizeof size);
  if (size != bits.size() || std::memcmp(bytes_.data() + at + sizeof size, bits.data(), size) != 0) return false;
  at += sizeof size + size;
  return true;
}

namespace {

void hash_leaf(const Array& a, Hasher& h) {
  h(a.weak());
  if (const Buffer* b = a.buffer()) {
    h(b->dtype())(b->rank());
    for (const std::int64_t d : b->dims()) h(d);
    return;
  }
  const Type type = a.type();
  if (!type.is_array() || !type.shape.known()) return type.hash(h);
  h(type.dtype)(type.rank());
  for (const Dim& d : type.shape) h(d.value());
}

}  // namespace

Signature Signature::of(const tree::View& tree) {
  Signature s;
  tree.visit([&](const Array& a) { s.leaves_.emplace_back(a); },
             [&](const tree::Static& fixed) { s.fixed_.add(fixed); });
  return s;
}

Signature Signature::of_leaves(std::span<const Array> leaves) {
  Signature s;
  for (const Array& a : leaves) s.leaves_.emplace_back(a);
  return s;
}

std::uint64_t Signature::hash(const tree::View& tree) {
  Hasher h;
  Hash128 room;
  tree.visit([&](const Array& a) { hash_leaf(a, h); }, [&](const tree::Static& fixed) { h(fixed.bits(room)); });
  return h.finish().low;
}

std::uint64_t Signature::form_hash(const tree::View& tree) {
  Hasher h;
  Hash128 room;
  h("any sizes");
  tree.visit([&](const Array& a) { hash_form(a, h); }, [&](const tree::Static& fixed) { h(fixed.bits(room)); });
  return h.finish().low;
}

Signature Signature::with_sizes(std::span<const Array> leaves, SizeVariables sizes) const {
  Signature s = *this;
  if (sizes.empty()) return s;
  s.leaves_.clear();
  for (std::uint32_t i = 0; i < leaves.size(); ++i) s.leaves_.emplace_back(leaves[i], i, sizes);
  s.sizes_ = std::move(sizes);
  return s;
}

bool Signature::matches(const tree::View& tree, const Array** leaves) const {
  std::size_t at = 0;
  bool same = true;
  const auto next = [&](const tree::Static& fixed) { same = same && fixed_.next(at, fixed); };
  if (tree.addresses(leaves, leaves_.size(), next) != leaves_.size() || !same || !fixed_.ends_at(at)) return false;
  for (std::size_t i = 0; i < leaves_.size(); ++i)
    if (!leaves_[i].matches(*leaves[i])) return false;
  return sizes_agree(leaves);
}

}  // namespace tenon::api_detail
