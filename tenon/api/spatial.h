// Rotations of space, as unit quaternions, with SciPy's names.
//
// Quaternions are (x, y, z, w), w the real part, along the last axis; the axes before it are a batch, and batches of
// two rotations broadcast. Of real numbers; integers become f32 (64-bit ones f64), f8, f16 and bf16 are computed in
// f32. Derivatives of any order, at no rotation too. Throws ShapeError where a last axis has not the size that is asked
// for.
#pragma once

#include <optional>
#include <string_view>

#include "tenon/ir/array.h"

namespace tenon::spatial {

struct QuatOptions {
  bool canonical = false;     // of q and -q, the same rotation, that whose last component that is not 0 is positive …
  bool scalar_first = false;  // … counted from w, then x, y, z; w in front
};

// A tree of one array. Angles are in radians, unless `degrees`.
struct Rotation {
  Array quat;  // [..., 4], of length 1

  // Quaternions of any length but 0.
  static Rotation from_quat(const Operand& quat);
  // Orthogonal matrices [..., 3, 3] of determinant 1.
  static Rotation from_matrix(const Operand& matrix);
  // [..., 3]: along the axis, as long as the angle.
  //   spatial::Rotation::from_rotvec(Array{0.0, 0.0, 90.0}, true).apply(Array{1.0, 0.0, 0.0})   // 0 1 0
  static Rotation from_rotvec(const Operand& rotvec, bool degrees = false);
  // [..., 3], modified Rodrigues parameters: along the axis, as long as the tangent of a quarter of the angle.
  static Rotation from_mrp(const Operand& mrp);
  // One after another, angles [..., n] about n axes of `seq`, one to three of x, y and z, or of X, Y and Z for axes
  // that turn with what was rotated before. Throws ShapeError for other letters, and where one follows itself.
  static Rotation from_euler(std::string_view seq, const Operand& angles, bool degrees = false);
  static Rotation identity(DType dtype = DType::f32);

  Array as_quat(const QuatOptions& options = {}) const;
  Array as_matrix() const;
  Array as_rotvec(bool degrees = false) const;
  Array as_mrp() const;
  // Three angles [..., 3] about the axes of `seq` (Bernardes and Viollet 2022), from -π to π; of those that all turn
  // about one line in the end, the third is 0.
  Array as_euler(std::string_view seq, bool degrees = false) const;

  // Vectors [..., 3], rotated, or rotated back.
  Array apply(const Operand& vectors, bool inverse = false) const;
  Rotation inv() const;
  Array magnitude() const;  // [...]: the angle, from 0 to π
  // Of [n, 4] the rotation with the least squares of distances, with weights [n] (Markley et al. 2007).
  Rotation mean(const std::optional<Array>& weights = {}) const;
};
// The rotation q, then p.
//   const auto turn = spatial::Rotation::from_rotvec(Array{0.0, 0.0, 90.0}, true);
//   (turn * turn).apply(Array{1.0, 0.0, 0.0})   // -1 0 0
Rotation operator*(const Rotation& p, const Rotation& q);

// Rotations between ones at known times, about a fixed axis with constant speed each. A tree, which `init` makes of
// times [n], ascending, and as many rotations [n, 4], two or more: else a ShapeError. Before the first and behind the
// last time the motion goes on as it is there.
//   const Slerp path = spatial::Slerp::init(times, rotations);
//   path(0.5).as_matrix()
struct Slerp {
  Array times, timedelta;  // [n], and the n - 1 steps between them
  Rotation rotations;      // at the beginning of each step
  Array rotvecs;           // from there to its end

  static Slerp init(const Operand& times, const Rotation& rotations);
  Rotation operator()(const Operand& at) const;  // [...] -> [..., 4]
};

}  // namespace tenon::spatial
