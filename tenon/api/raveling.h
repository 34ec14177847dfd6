// The leaves of a tree as one vector: ravel_pytree, and what is said of vectors alone: solvers, minimisers,
// integrators.
#pragma once

#include <functional>
#include <span>

#include "tenon/api/implicit.h"

namespace tenon {

namespace api_detail {

// What errors call a leaf of a tree: "leaf a.b of x0", or "x0" where it is the tree.
std::string name_of_leaf(std::string_view tree, const std::string& path);

// The leaves one behind the other, in the dtype in which they meet and in which is computed: at least f32.
class Raveling {
 public:
  // Throws DTypeError, naming the leaf, where one has no derivative or is a list.
  Raveling(std::string_view op, std::string_view what, std::span<const Array> leaves, LeafPaths paths);
  // Of any dtypes, in that in which they meet. Throws DTypeError, naming the leaf, where one is a list.
  static Raveling of_any(std::string_view op, std::string_view what, std::span<const Array> leaves, LeafPaths paths);

  DType dtype() const { return dtype_; }
  const Dim& size() const { return size_; }
  const std::vector<Type>& types() const { return types_; }
  bool all_complex() const { return all_complex_; }

  Array vector(std::span<const Array> leaves) const;  // [size]
  Arrays leaves(const Array& vectors) const;  // [..., size] -> of the types that they had, behind the axes before
  // Of a vector of the user's: where the leaves have one dtype, in that of the vector. Throws ShapeError or DTypeError.
  Arrays leaves_of_vector(std::string_view op, const Array& vector) const;
  // What a function returned, of the leaves' types, and its vector. Throws TreeError, ShapeError or DTypeError, naming
  // the leaf, where it is not.
  Arrays leaves_of_result(std::string_view op, std::string_view what, const Arrays& given, LeafPaths paths) const;
  Array vector_of_result(std::string_view op, std::string_view what, const Arrays& given, LeafPaths paths) const {
    return vector(leaves_of_result(op, what, given, paths));
  }

 private:
  Raveling() = default;

  std::vector<Type> types_;
  DType dtype_ = DType::f32;
  Dim size_ = 0;
  bool all_complex_ = true;
};

// Integers in the real numbers that stand for them.
Arrays inexact(std::span<const Array> leaves);

}  // namespace api_detail

// The function from vectors to trees that ravel_pytree returns.
template <class T>
class Unravel {
 public:
  Unravel(T like, api_detail::Raveling raveling) : like_(std::move(like)), raveling_(std::move(raveling)) {
    tree::assign(like_, Arrays(raveling_.types().size()));  // it keeps no arrays
  }
  T operator()(const Operand& vector) const {
    const SourceScope place(vector.where(), "unravel");
    return tree::with_leaves(like_, raveling_.leaves_of_vector("unravel", vector));
  }

 private:
  T like_;
  api_detail::Raveling raveling_;
};

template <class T>
struct Raveled {
  Array vector;
  Unravel<T> unravel;
};

// The leaves of a tree, row-major one behind the other, as one vector, and the function back: unravel(vector) is a tree
// of the same type, with the static fields of the one that was given. The vector has the dtype in which those of the
// leaves meet, numbers of C++ as arrays of theirs, and is f32[0] of a tree without leaves. Each leaf gets its shape and
// its dtype back, of complex numbers the real part; where all have one dtype unravel takes vectors of any, and they get
// that of the vector. Both are differentiated, batched and compiled as what they are made of.
//   auto [vector, unravel] = tn::ravel_pytree(params);                          // f32[n]
//   auto slope = tn::grad([=](Array v) { return loss(unravel(v)); })(vector);   // f32[n]
// Throws DTypeError where a leaf is a list or dtypes do not meet; unravel ShapeError where it is given no vector of
// this size, and DTypeError where the leaves differ in dtype and it has another one than the vector had.
template <class T>
Raveled<T> ravel_pytree(const T& tree, const Source& where = std::source_location::current()) {
  static_assert(tree_detail::check_argument<T>());
  const SourceScope place(where, "ravel_pytree");
  const Arrays leaves = tree::leaves(tree);
  const auto raveling =
      api_detail::Raveling::of_any("ravel_pytree", "the tree", leaves, [&] { return tree::paths(tree); });
  return {raveling.vector(leaves).with_weak(false), Unravel<T>(tree, raveling)};
}

}  // namespace tenon
