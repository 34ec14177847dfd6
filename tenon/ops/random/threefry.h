// The Threefry-2x32 block function as an op.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

enum class ThreefryOutput : std::uint8_t { first, second, mixed, wide };

// Of the block (x0, x1) encrypted by the key (k0, k1), 20 rounds: its first word, its second, both by xor (u32), or
// both as one u64. All operands are u32 of one shape.
Array threefry2x32(ThreefryOutput output, const Array& k0, const Array& k1, const Array& x0, const Array& x1);

}  // namespace tenon
