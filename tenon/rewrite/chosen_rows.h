// Rows that index vectors name, as choices among all places along an axis.
#pragma once

#include "tenon/ir/array.h"
#include "tenon/ir/program.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

// What a gather reads or a scatter adds, where its axes come in the order of x's: beside those that go with axes of x
// the results or updates have axes of one element, and so have the indices. `Numerics::strict` too.
std::optional<RowPoints> rows_in_order(const Eqn& eqn, const Program& program);
// The same of up to `most` rows for each place of the other axes, as the gradient of some largest elements adds them.
struct SeveralRows {
  RowPoints points;  // of any one of them
  std::int64_t count = 1;
  std::int64_t of_rows = 0, of_indices = 0;  // along which axes they lie, if they are several
};
std::optional<SeveralRows> several_rows_in_order(const Eqn& eqn, const Program& program, std::int64_t most);

// For each element of an array with x's type: whether its place along the axis is the one that is named.
Array is_named(const RowPoints& points, const Type& x, const Array& indices);
// The axes of x but that one.
std::vector<std::int64_t> other_axes(const RowPoints& points);
// For each row: whether the place that is named is one of x.
Array is_inside(const RowPoints& points, const Type& x, const Array& indices);

}  // namespace tenon
