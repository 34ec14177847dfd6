// Numerics::strict for all of a Program.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// The Program with every eqn strict, in regions and callees too. Linear in the eqns; memoised.
ProgramRef strictly(const ProgramRef& program);

}  // namespace tenon
