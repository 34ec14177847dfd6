// Products of small matrices as sums, which what reads them computes: many of them, or of long matrices with small
// ones.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Each matrix of a batch costs a call's overhead in the library; a sum of few terms is computed by vectors across the
// batch, and no operand or result of it has to be stored. So a @ b of [n,3,3], of [n,8,8] and [n,8], of [n,3] and [3,3]
// are sums, whatever they were spelled as. Not of products that are strict, of narrow floats and integers, which the
// library sums wider, and of few elements, which are written out (tenon/compile/plan/nests.cpp).
ProgramRef small_products(const ProgramRef& program);

}  // namespace tenon
