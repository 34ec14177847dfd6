// Arrays as operands of the library's functions, and numbers beside them.
#pragma once

#include <utility>

#include "tenon/ir/array.h"

namespace tenon::python {

// The user's line is that of the scope (call.h): not one of this module's own.
inline Operand op(Array a) { return Operand(std::move(a), Source()); }
// Of the dtype of `like`.
inline Array number(double value, const Array& like) { return Array(Scalar(value).convert(like.dtype())); }

}  // namespace tenon::python
