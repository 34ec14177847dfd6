// Where the steps of a loop lie in arrays that are made of its stacks.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

// Where the steps of a loop lie in a variable: along an axis, which has one element a step, or one of so many equal
// parts behind each other (`chunk` elements each). Step `first` is the first of `count`, every `stride`-th of all, from
// the last to the first where that is negative.
struct StepsIn {
  std::int64_t axis;
  std::optional<Dim> chunk;
  Dim first, count;
  std::int64_t stride = 1;
  bool operator==(const StepsIn&) const = default;
};
// A variable, and how the steps lie in it.
struct Along {
  Var var;
  StepsIn steps;
};
// Such a variable is known by itself, and by how the steps lie in it: where they are some of all, their number is
// known.
using StepKey = std::tuple<Var, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
StepKey step_key(const Along& along);

StepsIn with_axis(StepsIn steps, std::int64_t axis);
// How as many parts, which lie behind each other where so many elements lie before the axis, lie in a shape.
std::optional<StepsIn> parts_along(const Shape& shape, const Dim& before, const StepsIn& steps);
Dim elements_before(const Shape& shape, std::size_t axis);
// The shape of one step's part of an array of that shape.
Shape step_shape(const Shape& whole, const StepsIn& steps);
// The axes but one: those behind it move up.
std::vector<std::int64_t> without_axis(const std::vector<std::int64_t>& axes, std::int64_t gone);
// Axes of a whole array as those of one step's part, without the one that a step has not.
std::vector<std::int64_t> step_axes(const StepsIn& steps, const std::vector<std::int64_t>& axes);

// The stacks that a loop of a given number of steps makes, lists left out; none of another eqn, and of loops whose
// lanes end apart.
std::vector<Var> stacks_of(const Program& program, const Eqn& eqn);
std::optional<ReductionForm> reduction_of(const Eqn& eqn, const Program& program);
// Whether an eqn is a broadcast that repeats its operand along all of these axes.
bool repeats_along(const Program& program, const Eqn* eqn, std::span<const std::int64_t> axes);
// Where an axis of an operand lies in the result of an elementwise op, a broadcast, a transpose, or a reduction over
// other axes: each element of the result is made of those at its place along the axis.
std::optional<std::int64_t> axis_in_result(const Program& program, const Eqn& eqn, Var operand, std::int64_t axis);

}  // namespace tenon
