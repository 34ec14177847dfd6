// The leaves of a tree as one vector, for what is said of vectors alone: solvers, minimisers, integrators.
#pragma once

#include <functional>
#include <span>

#include "tenon/api/implicit.h"

namespace tenon::api_detail {

// What errors call a leaf of a tree: "leaf a.b of x0", or "x0" where it is the tree.
std::string name_of_leaf(std::string_view tree, const std::string& path);

// The leaves one behind the other, in the dtype in which they meet and in which is computed: at least f32.
class Raveling {
 public:
  // Throws DTypeError, naming the leaf, where one has no derivative or is a list.
  Raveling(std::string_view op, std::string_view what, std::span<const Array> leaves, LeafPaths paths);

  DType dtype() const { return dtype_; }
  const Dim& size() const { return size_; }
  const std::vector<Type>& types() const { return types_; }
  bool all_complex() const { return all_complex_; }

  Array vector(std::span<const Array> leaves) const;  // [size]
  Arrays leaves(const Array& vectors) const;  // [..., size] -> of the types that they had, behind the axes before
  // What a function returned, of the leaves' types, and its vector. Throws TreeError, ShapeError or DTypeError, naming
  // the leaf, where it is not.
  Arrays leaves_of_result(std::string_view op, std::string_view what, const Arrays& given, LeafPaths paths) const;
  Array vector_of_result(std::string_view op, std::string_view what, const Arrays& given, LeafPaths paths) const {
    return vector(leaves_of_result(op, what, given, paths));
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
