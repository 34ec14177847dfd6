// Sizes that must be equal, as one.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Where a Program stops unless two of its sizes are equal (require_equal), what follows knows one of them: the size
// parameter that came first, or the number. Inputs of other sizes are reshaped, which moves nothing; the checks go
// before, and types of results have the sizes that are left. So x @ y and its gradient agree in the names of their
// sizes, and passes see equal axes; a size that must be a number is one. Checks of branches and loops stay where they
// are, and Programs of lists as they are. Linear in the eqns. Memoised.
ProgramRef unify_sizes(const ProgramRef& program);

}  // namespace tenon
