// Loops whose carries combine what each step has, as cumulative sums do, on all cores.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Where each step of a long loop of the outermost block that need not stay in order adds to its carries, multiplies
// them, or takes the greatest or least, and does nothing else that later steps read, blocks of steps run on all cores:
// first what each block has in all is computed, then, one after the other, what each begins with, then the steps
// (Ladner and Fischer, Parallel prefix computation, 1980). What the steps combine is computed twice. Linear in the
// expressions.
void divide_prefixes(Function& function, const Target& target);

}  // namespace tenon::kernel
