#include "tenon/ir/type.h"

#include <fmt/format.h>

#include "tenon/base/error.h"

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

std::int64_t Type::known_bytes() const {
  if (!is_array() || !shape.known()) return 0;
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const Dim& d : shape) bytes *= d.value();
  return bytes;
}

Type Type::map_dims(FunctionRef<Dim(const Dim&)> by) const {
  Type mapped = *this;
  if (element) mapped.element = std::make_shared<const Type>(element->map_dims(by));
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const Dim d = by(shape[i]);
    if (!d.known() || !shape[i].known() || d.value() != shape[i].value()) mapped.shape[i] = d;  // else it stays shared
  }
  return mapped;
}

void Type::visit_dims(FunctionRef<void(const Dim&)> seen) const {
  if (element) element->visit_dims(seen);
  for (const Dim& d : shape) seen(d);
}

std::size_t normalize_axis(std::int64_t axis, const Type& x, std::string_view op) {
  const auto n = static_cast<std::int64_t>(x.rank());
  if (axis < -n || axis >= n)
    throw ShapeError(fmt::format("{}: axis {} of {}, an array of rank {}.", op, axis, x.text(), n),
                     n == 0 ? "An array of rank 0 has no axes."
                            : fmt::format("Its axes are 0 to {}, or {} to -1 from the end.", n - 1, -n));
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

}  // namespace tenon
