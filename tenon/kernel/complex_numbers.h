// Complex numbers as pairs of real expressions: arithmetic and functions of them.
#pragma once

#include "tenon/kernel/expr.h"

namespace tenon::kernel {

struct Pair {
  Expr re, im;
};

// The op of complex numbers of the same name, where its result is complex. Products are by their formula: an infinite
// factor may give NaN. Quotients are scaled, so that they overflow only where the result does, and follow C's Annex G
// at zeros and infinities, as the other functions do. Branch cuts are those of C.
Pair unary(Unary op, const Pair& x);
Pair binary(Binary op, const Pair& x, const Pair& y);

}  // namespace tenon::kernel
