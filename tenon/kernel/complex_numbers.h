// Complex numbers as pairs of real expressions: arithmetic and functions of them.
#pragma once

#include "tenon/kernel/expr.h"

namespace tenon::kernel {

struct Pair {
  Expr re, im;
};

// The op of complex numbers of the same name, where its result is complex. Quotients are scaled, so that they overflow
// only where the result does. Branch cuts, zeros and infinities are those of C's Annex G, but that a part may be NaN
// where that has an infinity: of products, which are by their formula, and of functions of infinite angles.
Pair unary(Unary op, const Pair& x);
Pair binary(Binary op, const Pair& x, const Pair& y);

}  // namespace tenon::kernel
