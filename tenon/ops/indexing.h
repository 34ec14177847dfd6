// Reads and writes at indices that are known only when the program runs.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// The part of x of these sizes that starts at `start` (one i32 or i64 number an axis), moved inside where it would
// reach out.
Array dynamic_slice(const Operand& x, std::span<const Array> start, std::vector<std::int64_t> sizes);
// x with that part replaced. In place where nothing else needs x.
Array dynamic_update_slice(const Operand& x, const Operand& update, std::span<const Array> start);
// x[i] along the first axis; negative i counts from the end; out of bounds is moved inside.
Array at_index(const Operand& x, const Operand& index);
Array update_at_index(const Operand& x, const Operand& index, const Operand& value);

// Elements of x at `indices` along `axis`: the axis is replaced by the axes of `indices`. Negative ones count from the
// end; out of bounds is moved inside.
Array take(const Operand& x, const Operand& indices, std::int64_t axis = 0);

// x with `updates` added to (or set at) `indices` along its first axis; updates: the shape of indices, then the rest of
// x's. Of an index that is hit several times, all are added, or the last one stays. Out of bounds is left out.
Array scatter_add(const Operand& x, const Operand& indices, const Operand& updates);
Array scatter_set(const Operand& x, const Operand& indices, const Operand& updates);

// The elements of x (along its first axes) where the mask holds, in row-major order: f32[n] of a size that the data
// decide. Two arrays compressed by one mask agree in size.
Array compress(const Operand& x, const Operand& mask);

// x, through which no derivative flows.
Array stop_gradient(const Operand& x);

}  // namespace tenon
