#include "tenon/ir/type.h"

namespace tenon {
namespace {
constexpr std::string_view kind_names[] = {"array", "list", "accum", "ref"};
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (a.is_array()) return a.dtype == b.dtype && a.shape == b.shape;
  return *a.element == *b.element;
}

std::string Type::text() const {
  if (is_array()) return std::string(name(dtype)) + shape.text();
  return std::string(kind_names[static_cast<std::size_t>(kind)]) + "<" + element->text() + ">";
}

void Type::hash(Hasher& hasher) const {
  hasher(kind);
  if (!is_array()) return element->hash(hasher);
  hasher(dtype)(shape.rank());
  for (const Dim& d : shape) d.hash(hasher);
}

Type Type::map_dims(const std::function<Dim(const Dim&)>& by) const {
  Type mapped = *this;
  if (element) mapped.element = std::make_shared<const Type>(element->map_dims(by));
  for (std::size_t i = 0; i < mapped.shape.rank(); ++i) mapped.shape[i] = by(mapped.shape[i]);
  return mapped;
}

void Type::visit_dims(const std::function<void(const Dim&)>& seen) const {
  if (element) element->visit_dims(seen);
  for (const Dim& d : shape) seen(d);
}

}  // namespace tenon
