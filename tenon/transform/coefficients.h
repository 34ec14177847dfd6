// What unknown values are multiples of.
#pragma once

#include "tenon/transform/transforms.h"

namespace tenon {

// Before a Program that is linear in its unknown inputs is split: chains of products, negations and sums of one unknown
// value become one product of it with a known coefficient, as v·0.9 - v·c·v' does: v·(0.9 - c·v'). Then the coefficient
// is computed, and may be stored, where its operands are known, and reverse mode multiplies once where it walked the
// whole chain: the slope of a loop's step instead of its operations. Reassociates. One walk; the same Program where
// nothing is gained.
ProgramRef collect_coefficients(const ProgramRef& program, const Mask& known_in);

}  // namespace tenon
