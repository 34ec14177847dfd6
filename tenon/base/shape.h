// Shape: the sizes of an array's axes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/dim.h"

namespace tenon {

// A value type whose copies share their sizes until one of them is changed: programs hold a type for each variable, and
// transformations copy them all.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : Shape(std::vector<Dim>(dims)) {}
  explicit Shape(std::vector<Dim> dims);
  explicit Shape(std::span<const std::int64_t> dims) : Shape(std::vector<Dim>(dims.begin(), dims.end())) {}

  std::size_t rank() const { return dims_ == nullptr ? 0 : dims_->size(); }
  const Dim& operator[](std::size_t axis) const { return (*dims_)[axis]; }
  Dim& operator[](std::size_t axis) { return own()[axis]; }
  auto begin() const { return dims().begin(); }
  auto end() const { return dims().end(); }
  const std::vector<Dim>& dims() const { return dims_ == nullptr ? no_dims : *dims_; }
  friend bool operator==(const Shape& a, const Shape& b) { return a.dims_ == b.dims_ || a.dims() == b.dims(); }

  bool known() const;                       // every size is a number
  std::vector<std::int64_t> sizes() const;  // only where known()
  Dim elements() const;                     // product of the sizes; 1 for rank 0

  Shape with_axis(std::size_t at, const Dim& size) const;  // one axis more, before position `at`
  Shape without_axis(std::size_t at) const;
  void push_back(const Dim& d) { own().push_back(d); }

  std::string text() const;  // "[3,T]"

 private:
  std::vector<Dim>& own();  // that no copy shares
  static const std::vector<Dim> no_dims;
  std::shared_ptr<std::vector<Dim>> dims_;  // null: rank 0
};

// Checks an axis of a user's (negative counts from the end) and returns it in [0, rank). Throws ShapeError naming `op`.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view op);

}  // namespace tenon
