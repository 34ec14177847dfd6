#include "tenon/api/signature.h"

namespace tenon::api_detail {

LeafType::LeafType(const Array& a) : type_(a.type()), weak_(a.weak()), plain_(type_.is_array() && type_.shape.known()) {
  if (plain_) dims_ = type_.shape.sizes();
}

// Numbers, lists and handles of a trace.
bool LeafType::matches_other(const Array& a) const {
  if (a.weak() != weak_) return false;
  if (const Scalar* n = a.number()) return plain_ && dims_.empty() && n->dtype() == type_.dtype;
  return a.type() == type_;
}

Signature Signature::of_leaves(std::span<const Array> leaves) {
  Signature s;
  for (const Array& a : leaves) s.leaves_.emplace_back(a);
  return s;
}

void Signature::hash_leaf(const Array& a, Hasher& h) {
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

}  // namespace tenon::api_detail
