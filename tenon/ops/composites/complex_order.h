// Comparisons of activations with a bound, of complex numbers too. These stand in the order of their real parts, equal
// ones in that of their imaginary parts.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// x > bound, x >= bound, x < bound, x <= bound; false where x is NaN.
Array is_above(const Array& x, double bound);
Array is_at_least(const Array& x, double bound);
Array is_below(const Array& x, double bound);
Array is_at_most(const Array& x, double bound);

}  // namespace tenon
