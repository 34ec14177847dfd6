// The Philox-4x32 block function, of other ops: multiplications in place of Threefry's rotations.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once

#include <array>

#include "tenon/ir/array.h"

namespace tenon {

// The block of four words (the counter) encrypted by a key of two, 10 rounds. All are u32; they broadcast.
std::array<Array, 4> philox4x32(const std::array<Array, 2>& key, const std::array<Array, 4>& counter);

}  // namespace tenon
