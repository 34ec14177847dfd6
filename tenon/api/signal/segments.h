// Parts of signals along the last axis: zeros around, segments that overlap, and their sums where they do.
#pragma once

#include "tenon/ir/array.h"

namespace tenon::signal {

// The real or complex numbers of an operand, those of 16 bits in f32.
Array samples_of(const Operand& x);
// x with so many zeros before and behind along an axis; negative ones cut.
Array with_zeros(const Array& x, std::int64_t axis, const Dim& before, const Dim& behind);

// [..., n] -> [..., count, length]: `length` elements from 0, step, 2·step, … on, all of which are there.
Array segments_of(const Array& x, const Dim& count, std::int64_t length, std::int64_t step);
// The other way: segments added where they lie, [..., (count - 1)·step + length].
Array sum_of_segments(const Array& segments, std::int64_t step);

}  // namespace tenon::signal
