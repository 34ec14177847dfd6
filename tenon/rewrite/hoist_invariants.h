// What each step of a loop would compute alike, computed before it.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Sums, products and other ops that compute more than they give, of constants of a loop alone, become constants
// themselves; so does what they read. Elementwise ops stay where they fuse with what reads them, unless such an op
// needs them. Loops that run no step compute them once for nothing: only pure eqns go, of which none can fail. In
// regions too; nested loops first, so that one run takes an eqn out of all loops that it does not depend on. Exact;
// linear in the eqns times the depth of loops; memoised.
ProgramRef hoist_invariants(const ProgramRef& program);

}  // namespace tenon
