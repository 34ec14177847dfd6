// The leaves of a tree as one vector, for what is said of vectors alone: solvers, minimisers, integrators.
#pragma once

#include <functional>
#include <span>

#include "tenon/api/trace.h"

namespace tenon::api_detail {

// Names of the leaves, asked for by errors alone.
using NamesOfLeaves = FunctionRef<std::vector<std::string>()>;

// The leaves one behind the other, in the dtype in which they meet and in which is computed: at least f32.
class Raveling {
 public:
  // Throws DTypeError, naming the leaf, where one has no derivative or is a list.
  Raveling(std::string_view op, std::string_view what, std::span<const Array> leaves, NamesOfLeaves names);

  DType dtype() const { return dtype_; }
  const Dim& size() const { return size_; }
  const std::vector<Type>& types() const { return types_; }
  bool all_complex() const { return all_complex_; }

  Array vector(std::span<const Array> leaves) const;  // [size]
  Arrays leaves(const Array& vector) const;           // of the types that they had
  // What a function returned, of the leaves' types, and its vector. Throws TreeError, ShapeError or DTypeError, naming
  // the leaf, where it is not.
  Arrays leaves_of_result(std::string_view op, std::string_view what, const Arrays& given, NamesOfLeaves names) const;
  Array vector_of_result(std::string_view op, std::string_view what, const Arrays& given, NamesOfLeaves names) const {
    return vector(leaves_of_result(op, what, given, names));
  }

 private:
  std::vector<Type> types_;
  DType dtype_ = DType::f32;
  Dim size_ = 0;
  bool all_complex_ = true;
};

// Integers in the real numbers that stand for them.
Arrays inexact(std::span<const Array> leaves);

}  // namespace tenon::api_detail
