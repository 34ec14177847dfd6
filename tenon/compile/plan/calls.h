// What is elementwise between calls of units: each call has what it needs right before it, and what its results are
// combined to right behind it, so that the statements of one call are like those of the next, and arrays live as long
// as one call needs them.
#pragma once

#include <span>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ops/element_form.h"

namespace tenon {

// Whether it has so many that this saves more than a nest of all operands does, which reads what they share once.
bool has_many_calls(const Program& program);

// Values that end before the next call, which comes before what reads them: they are combined from results of calls,
// and take less memory than those. `forms` by variable. One walk over the
// eqns.
std::vector<bool> ends_at_calls(const Program& program, std::span<const ElementForm> forms);

}  // namespace tenon
