// |x|² of real and complex numbers.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// Real, element by element. Of complex numbers without the root whose derivative at 0 is not defined.
Array squared_modulus(const Array& x);

}  // namespace tenon
