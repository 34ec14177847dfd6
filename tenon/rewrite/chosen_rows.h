// Rows that index vectors name, as choices among all places along an axis.
#pragma once

#include "tenon/ir/array.h"
#include "tenon/ir/program.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

// What a gather reads or a scatter adds, where its axes come in the order of x's: beside those that go with axes of x
// the results or updates have axes of one element, and so have the indices. `Numerics::strict` too.
std::optional<RowPoints> rows_in_order(const Eqn& eqn, const Program& program);

// For each element of an array with x's type: whether its place along the axis is the one that is named.
Array is_named(const RowPoints& points, const Type& x, const Array& indices);
// The axes of x but that one.
std::vector<std::int64_t> other_axes(const RowPoints& points);
// For each row: whether the place that is named is one of x.
Array is_inside(const RowPoints& points, const Type& x, const Array& indices);

}  // namespace tenon
