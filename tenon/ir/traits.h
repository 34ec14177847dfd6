// Traits: what holds of an op whatever its operands are. Passes and rules ask for these facts instead of naming ops.
#pragma once

#include <optional>

#include "tenon/ir/scalar.h"

namespace tenon {

// A number of a dtype, where there is one. "To the bit" takes all NaNs for one.
using NumberOf = std::optional<Scalar> (*)(DType);

struct Traits {
  bool commutative = false;  // f(x, y) is f(y, x), to the bit
  bool associative = false;  // f(f(x, y), z) is f(x, f(y, z)): to the bit of integers and truths, else but for rounding
  bool idempotent = false;   // f(x, x), or f(f(x)) of one operand, is x, or f(x)
  bool involution = false;   // f(f(x)) is x
  bool even = false;         // f(-x) is f(x)
  bool determined = false;   // the same bits by whatever code: exact, or rounded once
  bool rearranges = false;   // each element of the result is one of the first operand
  NumberOf identity = nullptr;   // e of f(x, e) = x, to the bit
  NumberOf absorbing = nullptr;  // a of f(x, a) = a, to the bit
  NumberOf of_equals = nullptr;  // what f(x, x) is for every x
};

}  // namespace tenon
