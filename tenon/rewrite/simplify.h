// The library's rules, applied to what is compiled.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Applies default_rules() everywhere until none applies. Each says how exact it is; eqns of Numerics::strict are met by
// exact ones alone. TENON_PASSES=-NAME leaves a rule out, as it does passes. Linear in the eqns; memoised.
ProgramRef simplify(const ProgramRef& program);

}  // namespace tenon
