// Products of vectors and of blocks, as NumPy names them.
#pragma once

#include <cstdint>

#include "tenon/ir/array.h"
#include "tenon/ops/linear_algebra/dot.h"

namespace tenon {

// The vector product of vectors of 2 or 3 along these axes, the result's along `axisc`; a third component that is not
// there is 0. Of two vectors of 2 the third component alone, without the axis. Other axes broadcast, and operands meet
// in one dtype. Throws ShapeError where there are other numbers of components.
//   cross(Array{1.f, 0.f}, Array{0.f, 1.f}, CrossAxes{})   // 1
struct CrossAxes {
  std::int64_t axisa = -1, axisb = -1, axisc = -1;
};
Array cross(const Operand& a, const Operand& b, const CrossAxes& axes);

// The product of Kronecker: a block b times a[i, j, …] in the place of each element of a. Of the one that has fewer
// axes those in front are of size 1.
//   kron(Array{1, 2}, Array{1, 1})   // 1 1 2 2
Array kron(const Operand& a, const Operand& b);

}  // namespace tenon
