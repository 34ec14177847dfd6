// Arrays as Eigen sees them: eigen_map<Eigen::MatrixXf>(x). Include it beside tenon.h where you use Eigen; the other
// way is from(matrix) or borrow(matrix), which need no more than tenon.h.
#pragma once

#include <Eigen/Core>

#include "tenon/api/data.h"

namespace tenon {

// The elements of a concrete array of rank 1 or 2 in place, read-only; the array must outlive the map. M is a matrix or
// vector type of the array's dtype: a vector maps rank 1. Throws DTypeError, and ShapeError where M does not fit.
template <class M>
auto eigen_map(const Array& x, const Source& where = std::source_location::current()) {
  using T = typename M::Scalar;
  using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  const SourceScope place(where, "eigen_map");
  const Buffer* held = x.buffer();
  const std::size_t rank = M::IsVectorAtCompileTime ? 1 : 2;
  if (held == nullptr)
    throw RuntimeError("eigen_map: the array is not one that is held in memory.",
                       "Give it the result of a computation.");
  if (held->rank() != rank)
    throw ShapeError("eigen_map: " + x.type().text() + " is no array of rank " + std::to_string(rank) + ".",
                     "Map a matrix type on rank 2, a vector type on rank 1; reshape it otherwise.");
  const std::int64_t first = held->dims()[0], second = rank == 2 ? held->dims()[1] : 1;
  const bool row_vector = rank == 1 && M::RowsAtCompileTime == 1;
  const std::int64_t rows = row_vector ? second : first, cols = row_vector ? first : second;
  if ((M::RowsAtCompileTime != Eigen::Dynamic && M::RowsAtCompileTime != rows) ||
      (M::ColsAtCompileTime != Eigen::Dynamic && M::ColsAtCompileTime != cols))
    throw ShapeError("eigen_map: " + x.type().text() + " has other sizes than the matrix type.",
                     "Map a type of dynamic size.");
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t along = held->strides()[0] / size, across = rank == 2 ? held->strides()[1] / size : along * first;
  const Stride stride = rank == 2 && M::IsRowMajor ? Stride(along, across) : Stride(across, along);
  return Eigen::Map<const M, Eigen::Unaligned, Stride>(held->template as<T>(), rows, cols, stride);
}

}  // namespace tenon
