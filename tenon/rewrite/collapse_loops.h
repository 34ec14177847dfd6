// Loops of loops as one loop.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where all that a step of a loop does is another loop, which goes on with its carries and reads and stacks rows of
// what the outer one reads and stacks, one loop takes the steps of both: a scan over chunks of a sequence costs what
// one over the sequence costs, and so does its derivative. What is read and stacked is reshaped, which moves nothing.
// Loops whose steps are computed again in reverse mode stay: that is why one writes them so. In regions too. Exact.
// Linear in the eqns times the depth of loops; memoised.
ProgramRef collapse_loops(const ProgramRef& program);

}  // namespace tenon
