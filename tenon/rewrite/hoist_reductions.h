// Moves reductions of what a loop stacks into the loop, so that the stack is never built.
#pragma once

#include "tenon/ir/program.h"
#include "tenon/rewrite/hoist_search.h"

namespace tenon {

// Where every reader of a stacked output ends in reductions over the steps, these become carries, as streams say
// (streams.h); what lies on the way moves into the body (hoist_search.h), and what that reads becomes an operand of the
// loop. A loop that only branches read moves into them. Regions are rewritten too. Run after calls are inlined and
// before planning. Exactness: reassociates (eqns of Numerics::strict stay). Cost: a few walks over what reads each
// loop.
ProgramRef hoist_reductions(const ProgramRef& program);

// What it does to the reductions of what loops stack, in regions too: those that move into a loop, and those that stay
// behind, with the reason.
std::vector<HoistNote> hoist_notes(const ProgramRef& program);

}  // namespace tenon
