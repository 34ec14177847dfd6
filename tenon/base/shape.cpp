#include "tenon/base/shape.h"

#include <fmt/format.h>

#include "tenon/base/error.h"

namespace tenon {

constinit const std::vector<Dim> Shape::no_dims;

Shape::Shape(std::vector<Dim> dims)
    : dims_(dims.empty() ? nullptr : std::make_shared<std::vector<Dim>>(std::move(dims))) {}

std::vector<Dim>& Shape::own() {
  if (dims_ == nullptr)
    dims_ = std::make_shared<std::vector<Dim>>();
  else if (dims_.use_count() > 1)
    dims_ = std::make_shared<std::vector<Dim>>(*dims_);
  return *dims_;
}

bool Shape::known() const {
  for (const Dim& d : *this)
    if (!d.known()) return false;
  return true;
}

std::vector<std::int64_t> Shape::sizes() const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(rank());
  for (const Dim& d : *this) sizes.push_back(d.value());
  return sizes;
}

Dim Shape::elements() const {
  Dim product = 1;
  for (const Dim& d : *this) product = product * d;
  return product;
}

Shape Shape::with_axis(std::size_t at, const Dim& size) const {
  std::vector<Dim> dims = this->dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), size);
  return Shape(std::move(dims));
}

Shape Shape::without_axis(std::size_t at) const {
  std::vector<Dim> dims = this->dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
  return Shape(std::move(dims));
}

std::string Shape::text() const {
  std::string text = "[";
  for (std::size_t i = 0; i < rank(); ++i) {
    if (i > 0) text += ',';
    text += (*dims_)[i].text();
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
