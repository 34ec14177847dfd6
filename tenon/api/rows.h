// Rows: the gradient in an array that is only indexed, as the rows that were read.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// Of an array f32[n, …]: values[k] is a part of row indices[k]. A row that was read several times is there as often, to
// be added up. An index of `count` is of no row: of a branch that was not taken, or of what was read outside. A tree:
// functions that are jitted, batched and so on return it.
//   table = table.at(rows.indices).add(-0.1f * rows.values);   // costs as much as there are rows
struct Rows {
  Array indices = {};      // i64[k]
  Array values = {};       // [k, axes of a row…]
  std::int64_t count = 0;  // of the array's rows

  // The array: zeros, and each row's sum.
  Array dense() const;
  // Each row once, the sum of its parts, by ascending indices; as many again as there were, the others behind them with
  // an index of `count` and zeros.
  Rows combined() const;
};

}  // namespace tenon
