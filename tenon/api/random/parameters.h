// What the distributions have in common: parameters in one shape, facts of dtypes.
#pragma once

#include <initializer_list>
#include <string_view>

#include "tenon/api/random.h"

namespace tenon::random {

// Throws DTypeError where the dtype is not a real one, or a parameter is complex.
void require_real(std::string_view name, DType dtype, std::initializer_list<Operand> parameters = {});
// Parameters in such a dtype.
Arrays in_dtype(std::string_view name, DType dtype, std::initializer_list<Operand> parameters);
// The shape that is asked for, to which the parameters' shapes broadcast, or where they meet. Throws ShapeError where
// they do not.
Shape shape_of(std::string_view name, const MaybeShape& asked, std::span<const Array> parameters);
// Both: parameters in a dtype, broadcast to the result's shape.
Arrays spread(std::string_view name, const MaybeShape& asked, DType dtype, std::initializer_list<Operand> parameters);

}  // namespace tenon::random
