// Reductions: over all axes, or over those that are named.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

// The axes that an op works along: sum(x), sum(x, -1), sum(x, {0, 1}). Negative ones count from the end. The result
// lacks them, or has them with size 1: sum(x, Axes(-1).keepdims()), sum(x, Axes().keepdims()).
class Axes {
 public:
  Axes() = default;  // all
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Axes(T axis) : Axes({static_cast<std::int64_t>(axis)}) {}
  Axes(std::initializer_list<std::int64_t> axes) : Axes(std::vector<std::int64_t>(axes)) {}
  explicit Axes(std::vector<std::int64_t> axes) : all_(false), axes_(std::move(axes)) {}

  Axes keepdims() const {
    Axes kept = *this;
    kept.keeps_ = true;
    return kept;
  }
  bool keeps_dims() const { return keeps_; }
  // The axes that are meant of an array of this type, ascending. Throws ShapeError naming `op` where one is not there
  // or is named twice.
  std::vector<std::int64_t> of(const Type& x, std::string_view op) const;
  // How many elements of x each result is made of, and the shape of the results.
  Dim count(const Type& x, std::string_view op) const;
  Shape results(const Type& x, std::string_view op) const;

 private:
  bool all_ = true, keeps_ = false;
  std::vector<std::int64_t> axes_;
};

// What no element is less than: -inf, the least integer, false. What none is more than.
//   Array(highest(DType::u8))   // 255
Scalar lowest(DType dtype);
Scalar highest(DType dtype);

// Σ x and Π x; of no elements 0 and 1. The order of summation is unspecified; f8, f16 and bf16 accumulate in f32. Of
// bool: counts are i32.
//   sum(Array{{1, 2}, {3, 4}}, 0)   // 4 6
//   sum(Array{{1, 2}, {3, 4}}, Axes(-1).keepdims())   // 3, 7
//   prod(Array{2, 3, 4})   // 24
Array sum(const Operand& x, const Axes& axes = {});
Array prod(const Operand& x, const Axes& axes = {});
// The largest and the smallest element: NaN where any element is; at ties the gradient is shared equally. Of bool: any
// and all. Of no elements: a ShapeError.
//   amax(Array{{1, 5}, {7, 2}}, 1)   // 5 7
//   amin(Array{3.f, 1.f})   // 1
Array amax(const Operand& x, const Axes& axes = {});
Array amin(const Operand& x, const Axes& axes = {});
// The same under the names of the two-operand functions: max(x), max(x, Axes(-1)). A number there is an operand.
//   max(Array{{1, 5}, {7, 2}}, Axes(0))   // 7 5
//   min(Array{3, 1})   // 1
inline Array max(const Operand& x) { return amax(x); }
inline Array min(const Operand& x) { return amin(x); }
template <std::same_as<Axes> A>
Array max(const Operand& x, const A& axes) {
  return amax(x, axes);
}
template <std::same_as<Axes> A>
Array min(const Operand& x, const A& axes) {
  return amin(x, axes);
}
// Whether any element is true: of bool: others are a DTypeError (x != 0).
//   any(Array{{true, false}, {false, false}}, 1)   // true false
Array any(const Operand& x, const Axes& axes = {});
// Whether all elements are true, all(x == y); and, in an index, the whole of an axis: x(all, 0).
//   all(Array{1, 2} == Array{1, 3})   // false
struct All {
  Array operator()(const Operand& x, const Axes& axes = {}) const;
};
inline constexpr All all;
// Index of the first largest (smallest) element, along one axis or of all in row-major order: i32, i64 beyond its
// range. A NaN counts as the largest (smallest).
//   argmax(Array{3, 9, 9})   // 1
//   argmin(Array{{3, 1}, {2, 5}}, 1)   // 1 0
Array argmax(const Operand& x, const Axes& axis = {});
Array argmin(const Operand& x, const Axes& axis = {});

}  // namespace tenon
