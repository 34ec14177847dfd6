// Products of matrices by groups: rows of one array, each group of which has a matrix of its own.
#pragma once

#include <optional>

#include "tenon/ops/linear_algebra/dot.h"

namespace tenon {

// The rows of lhs, [m, k], times matrices of rhs, [groups, k, n]: the first group_sizes[0] rows times the first matrix,
// the next group_sizes[1] times the second, and so on: [m, n]. Rows behind all groups are 0; rows that sizes count
// beyond m are not there. dtypes as of dot_general. Derivatives of any order in lhs and rhs. The rows are taken in
// blocks of up to 128, each times the matrix of its group: time grows with m·k·n, and a block a group; of few rows, and
// of sizes that vary, all rows are multiplied with all matrices. Throws ShapeError where shapes do not fit, DTypeError
// where group sizes are no integers.
//   ragged_dot(Array{{1.f}, {1.f}, {1.f}}, Array{{{1.f}}, {{5.f}}}, Array{1, 2})   // 1 5 5
Array ragged_dot(const Operand& lhs, const Operand& rhs, const Operand& group_sizes,
                 std::optional<DType> preferred = {});

// What dot_general() is, where the axis `ragged` of lhs is divided into groups. If it is neither contracted nor of the
// batch, the part of a group is multiplied with its part of rhs along the axis `group`. If it is contracted, each group
// is summed apart, along a new first axis of the result; if it is of the batch, groups change nothing. Group sizes may
// have axes of their own in front: those of the batch, and those of lhs of the ragged axis' kind before it; all rows
// are multiplied with all groups then. Throws as ragged_dot, and ShapeError where `group` is not given as it has to be.
//   ragged_dot_general(Array{{1.f, 2.f, 3.f}}, ones({3, 1}), Array{1, 2}, {{1}, {0}, {}, {}}, 1)   // 1 5
Array ragged_dot_general(const Operand& lhs, const Operand& rhs, const Operand& group_sizes, const DotAxes& axes,
                         std::int64_t ragged, std::optional<std::int64_t> group = {},
                         std::optional<DType> preferred = {});

}  // namespace tenon
