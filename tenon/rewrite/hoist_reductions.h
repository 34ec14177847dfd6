// Moves reductions of what a loop stacks into the loop, so that the stack is never built.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where every reader of a stacked output ends in reductions over the steps (sum, prod, max, min, any, all; other axes
// may be reduced too), those become carries; elementwise ops, broadcasts and reductions over other axes on the way move
// into the body, what else they read becomes an operand of the loop. Regions are rewritten too. Run after calls are
// inlined and before planning. Exactness: reassociates (eqns of Numerics::strict stay). Cost: a few walks over what
// reads each loop.
ProgramRef hoist_reductions(const ProgramRef& program);

}  // namespace tenon
