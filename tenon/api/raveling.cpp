#include "tenon/api/raveling.h"

#include <fmt/format.h>

#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/with_shape.h"

namespace tenon::api_detail {

std::string name_of_leaf(std::string_view tree, const std::string& path) {
  return path.empty() ? std::string(tree) : fmt::format("leaf {} of {}", path, tree);
}

Arrays inexact(std::span<const Array> leaves) {
  Arrays all;
  for (const Array& a : leaves) all.push_back((a.type().is_array() ? to_inexact(a) : a).with_weak(false));
  return all;
}

Raveling::Raveling(std::string_view op, std::string_view what, std::span<const Array> leaves, LeafPaths paths) {
  Arrays zeros;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Type t = leaves[i].type();
    if (!t.is_array() || !is_differentiable(t.dtype))
      throw DTypeError(
          fmt::format("{}: {} is {}, not real or complex numbers.", op, name_of_leaf(what, paths()[i]), t.text()),
          "Convert it to a floating dtype, or let the function capture it.");
    types_.push_back(t);
    size_ = size_ + t.shape.elements();
    all_complex_ = all_complex_ && is_complex(t.dtype);
    zeros.push_back(Array(Scalar::zero(t.dtype)));
  }
  all_complex_ = all_complex_ && !types_.empty();
  if (!zeros.empty()) dtype_ = widened(in_one_dtype(zeros).operands[0]).dtype();
}

Raveling Raveling::of_any(std::string_view op, std::string_view what, std::span<const Array> leaves, LeafPaths paths) {
  Raveling made;
  Arrays zeros;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Type t = leaves[i].type();
    if (!t.is_array())
      throw DTypeError(fmt::format("{}: {} is {}, no array.", op, name_of_leaf(what, paths()[i]), t.text()),
                       "Stack the list first.");
    made.types_.push_back(t);
    made.size_ = made.size_ + t.shape.elements();
    zeros.push_back(Array(Scalar::zero(t.dtype)));
  }
  if (!zeros.empty()) made.dtype_ = promoted(op, zeros).dtype;
  return made;
}

Array Raveling::vector(std::span<const Array> leaves) const {
  Arrays parts;
  for (const Array& a : leaves) parts.push_back(convert(in_a_row(a), dtype_));
  if (parts.empty()) return zeros({0}, dtype_);
  return parts.size() == 1 ? parts[0] : concatenate(parts, 0);
}

Arrays Raveling::leaves(const Array& vectors) const {
  const std::vector<Dim> before = vectors.shape().dims();
  Arrays all;
  Dim at = 0;
  for (const Type& t : types_) {
    const Dim end = at + t.shape.elements();
    const Array part = types_.size() == 1 ? vectors : slice_in_dim(vectors, at, end, -1);
    std::vector<Dim> dims(before.begin(), before.end() - 1);
    dims.insert(dims.end(), t.shape.begin(), t.shape.end());
    all.push_back(convert(reshape(part, Shape(std::move(dims))), t.dtype));
    at = end;
  }
  return all;
}

Arrays Raveling::leaves_of_vector(std::string_view op, const Array& given) const {
  const auto error = [&] {
    return ShapeError(fmt::format("{}: {} is no vector of {} elements.", op, given.type().text(), size_.text()),
                      "Give a vector as long as the one that ravel_pytree has made.");
  };
  if (!given.type().is_array()) throw error();
  const Array vector = with_shape(given, {size_}, error);
  if (given.weak() || given.dtype() == dtype_) return leaves(vector);
  Raveling as_given = *this;
  for (Type& type : as_given.types_) {
    if (type.dtype != dtype_)
      throw DTypeError(fmt::format("{}: {} is not of the dtype in which the leaves meet, {}.", op, given.type().text(),
                                   name(dtype_)),
                       "Convert it, with tn::convert().");
    type.dtype = given.dtype();
  }
  return as_given.leaves(vector);
}

Arrays Raveling::leaves_of_result(std::string_view op, std::string_view what, const Arrays& given,
                                  LeafPaths paths) const {
  if (given.size() != types_.size())
    throw TreeError(fmt::format("{}: {} has {} arrays, not {}.", op, what, given.size(), types_.size()),
                    "Return a tree with the same containers.");
  Arrays all;
  for (std::size_t i = 0; i < given.size(); ++i)
    all.push_back(fitted(given[i], types_[i], op, [&] { return name_of_leaf(what, paths()[i]); }));
  return all;
}

}  // namespace tenon::api_detail
