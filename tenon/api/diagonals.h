// Diagonals and triangles of matrices, as NumPy names them. Diagonal k lies k places above the main one, below it where
// k is negative. Sizes may be any Dim. Derivatives move with the elements. Throws ShapeError where there are too few
// axes.
#pragma once

#include <cstdint>

#include "tenon/ir/array.h"

namespace tenon {

// A diagonal of the matrices in two axes, along the last axis of the result: of one that lies outside no elements.
//   diagonal(Array{{1, 2}, {3, 4}})   // 1 4
Array diagonal(const Operand& x, std::int64_t k = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
// Of a matrix its diagonal; of a vector the square matrix with that diagonal, zeros elsewhere.
//   diag(Array{1, 2})      // 1 0, 0 2
//   diag(Array{1, 2}, 1)   // 0 1 0, 0 0 2, 0 0 0
Array diag(const Operand& x, std::int64_t k = 0);

// The matrices in the last two axes, with zeros above the diagonal, and below it.
//   tril(Array{{1, 2}, {3, 4}})   // 1 0, 3 4
Array tril(const Operand& x, std::int64_t k = 0);
Array triu(const Operand& x, std::int64_t k = 0);
// Ones on and below the diagonal, zeros above: [n, m]; and ones on the diagonal alone.
//   tri(2, 3)       // 1 0 0, 1 1 0
//   eye(2, 3, 1)    // 0 1 0, 0 0 1
Array tri(const Dim& n, const Dim& m, std::int64_t k = 0, DType dtype = DType::f32,
          const Source& where = std::source_location::current());
Array eye(const Dim& n, const Dim& m, std::int64_t k, DType dtype = DType::f32,
          const Source& where = std::source_location::current());

namespace linalg {

// The sum along a diagonal of the matrices in two axes. bool counts as i32.
//   linalg::trace(Array{{1.f, 2.f}, {3.f, 4.f}})   // 5
Array trace(const Operand& x, std::int64_t k = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);

}  // namespace linalg

}  // namespace tenon
