// Inputs that tests of code for found sizes share.
#pragma once

#include "tenon/tenon.h"

namespace tenon {

// Numbers of a dtype, among them zeros and both signs.
inline Array numbers(DType dtype, const Shape& shape) {
  const Array at = reshape(arange(shape.elements().value()), shape);
  const Array value = convert((at * 37 % 23) - 7, DType::f64) * 0.37;
  if (dtype == DType::bool_) return at % 3 == 1;
  if (is_complex(dtype)) return convert(complex(value, value * 0.5 - 1.0), dtype);
  if (!is_inexact(dtype)) return convert((at * 37 % 23) - (is_signed_integer(dtype) ? 7 : 0), dtype);
  return convert(value, dtype);
}

}  // namespace tenon
