// Shape: the sizes of an array's axes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/dim.h"

namespace tenon {

class Shape {
 public:
  Shape() = default;
  // Not inline: types are copied wherever programs are made, and inlining that takes the compiler long.
  Shape(const Shape&);
  Shape(Shape&&) noexcept = default;
  Shape& operator=(const Shape&);
  Shape& operator=(Shape&&) noexcept = default;
  ~Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const std::int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  std::size_t rank() const { return dims_.size(); }
  const Dim& operator[](std::size_t axis) const { return dims_[axis]; }
  Dim& operator[](std::size_t axis) { return dims_[axis]; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  const std::vector<Dim>& dims() const { return dims_; }
  bool operator==(const Shape&) const = default;

  bool known() const;                       // every size is a number
  std::vector<std::int64_t> sizes() const;  // only where known()
  Dim elements() const;                     // product of the sizes; 1 for rank 0

  Shape with_axis(std::size_t at, const Dim& size) const;  // one axis more, before position `at`
  Shape without_axis(std::size_t at) const;
  void push_back(const Dim& d) { dims_.push_back(d); }

  std::string text() const;  // "[3,T]"

 private:
  std::vector<Dim> dims_;
};

// Checks an axis of a user's (negative counts from the end) and returns it in [0, rank). Throws ShapeError naming `op`.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view op);

}  // namespace tenon
