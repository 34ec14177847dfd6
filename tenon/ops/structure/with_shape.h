// Shapes that have to be the same, where only running may tell.
#pragma once

#include "tenon/base/error.h"
#include "tenon/base/function_ref.h"
#include "tenon/ir/array.h"

namespace tenon {

// x, whose shape has to be this one: throws the error where it is known to be another, and the run is refused with it
// where only running tells.
Array with_shape(const Array& x, const Shape& shape, FunctionRef<ShapeError()> error);

}  // namespace tenon
