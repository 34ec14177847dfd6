// Calls that repeat, as loops.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A function that is called from line to line, as layers of a network, the terms of a sum, or steps that the user's own
// loop took while it was traced: where the calls, with what lies between them, differ in numbers alone, they become one
// loop whose body calls the function once. Numbers become a table that the steps read; what each step computes for
// others is stacked. So planning and code do not grow with the calls. From 8 steps on (3 with TENON_UNITS=small in the
// environment), in regions and functions too. Exact: each step computes what it did, in its order. Time: n log n in
// eqns.
ProgramRef roll_calls(const ProgramRef& program);
// The same of those calls alone that share_calls() leaves calls: before differentiation, which then has one step to go
// through, whatever it is compiled with.
ProgramRef roll_shared_calls(const ProgramRef& program);

}  // namespace tenon
