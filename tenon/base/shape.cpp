#include "tenon/base/shape.h"

#include <fmt/format.h>

#include "tenon/base/error.h"

namespace tenon {

Shape::Shape(const Shape&) = default;
Shape& Shape::operator=(const Shape&) = default;

bool Shape::known() const {
  for (const Dim& d : dims_)
    if (!d.known()) return false;
  return true;
}

std::vector<std::int64_t> Shape::sizes() const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims_.size());
  for (const Dim& d : dims_) sizes.push_back(d.value());
  return sizes;
}

Dim Shape::elements() const {
  Dim product = 1;
  for (const Dim& d : dims_) product = product * d;
  return product;
}

Shape Shape::with_axis(std::size_t at, const Dim& size) const {
  std::vector<Dim> dims = dims_;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), size);
  return Shape(std::move(dims));
}

Shape Shape::without_axis(std::size_t at) const {
  std::vector<Dim> dims = dims_;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
  return Shape(std::move(dims));
}

std::string Shape::text() const {
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ',';
    text += dims_[i].text();
  }
  return text + "]";
}

std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view op) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n)
    throw ShapeError(fmt::format("{}: axis {} of an array of rank {}.", op, axis, rank),
                     rank == 0 ? "An array of rank 0 has no axes."
                               : fmt::format("Axes of this array run from {} to {}.", -n, n - 1));
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

}  // namespace tenon
