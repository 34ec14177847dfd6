// Type: what a variable of a Program holds. An array, a list that grows, an accumulator, or a reference.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/dtype.h"
#include "tenon/base/function_ref.h"
#include "tenon/base/shape.h"

namespace tenon {

struct Type {
  enum class Kind : std::uint8_t {
    array,
    list,   // of `element`; grows without a bound
    accum,  // write-only sum of `element`s; arises by transposition
    ref,    // mutable; discharged into carries when its scope closes
  };
  Kind kind = Kind::array;
  DType dtype = DType::f32;             // of arrays
  Shape shape;                          // of arrays
  std::shared_ptr<const Type> element;  // of the other kinds

  static Type array(DType dtype, Shape shape) { return {Kind::array, dtype, std::move(shape), nullptr}; }
  static Type list(Type element) {
    return {Kind::list, DType::f32, {}, std::make_shared<const Type>(std::move(element))};
  }
  static Type accum(Type element) {
    return {Kind::accum, DType::f32, {}, std::make_shared<const Type>(std::move(element))};
  }
  static Type ref(Type element) {
    return {Kind::ref, DType::f32, {}, std::make_shared<const Type>(std::move(element))};
  }

  bool is_array() const { return kind == Kind::array; }
  bool is_list() const { return kind == Kind::list; }
  std::size_t rank() const { return shape.rank(); }
  std::int64_t known_bytes() const;  // of an array whose sizes are known; else 0
  std::string text() const;          // "f32[3,T]", "list<f32[3]>"
  void hash(Hasher& hasher) const;
  friend bool operator==(const Type& a, const Type& b);

  // The same kind of type with every Dim mapped.
  Type map_dims(FunctionRef<Dim(const Dim&)> by) const;
  void visit_dims(FunctionRef<void(const Dim&)> seen) const;
};

// As the one of shapes, for an axis of an array whose type the error shall tell.
std::size_t normalize_axis(std::int64_t axis, const Type& x, std::string_view op);

}  // namespace tenon
