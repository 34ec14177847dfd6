// Products of arrays that are kept in blocks, each with a scale of its own, as quantised weights are.
#pragma once

#include <optional>

#include "tenon/ops/linear_algebra/dot.h"

namespace tenon {

struct ScaledDotOptions {
  // Of the rank of the operand, whose sizes theirs divide: an element counts for a block of so many. None: 1.
  std::optional<Array> a_scale = {}, b_scale = {};
  // Of which pairs of axes the products are added up; where it is not given, as matmul() has it of matrices in the last
  // two axes, with a batch of the same size in front.
  std::optional<DotAxes> axes = {};
  DType dtype = DType::f32;  // of the result; f8, f16 and bf16 are computed in f32
};

// dot_general(a·a_scale, b·b_scale), in one dtype whatever the operands and scales have: integers too. Derivatives in
// all four. Throws ShapeError where a scale's sizes do not divide the operand's.
//   scaled_dot(eye(2), Array{{1.f, 2.f}, {3.f, 4.f}}, {.a_scale = Array{{2.f}, {10.f}}})   // 2 4, 30 40
Array scaled_dot(const Operand& a, const Operand& b, const ScaledDotOptions& options = {});

}  // namespace tenon
