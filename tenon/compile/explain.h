// explain: what a Program becomes when it is compiled, as text for people: kernels, products, memory, copies, and why.
#pragma once

#include <string>
#include <vector>

#include "tenon/compile/report.h"
#include "tenon/ir/program.h"

namespace tenon {

// Plans the Program as compile() does, without generating code. What the report holds already (values kept for reverse
// mode) is told too. Work of a loop without a known length counts for one step; a function of one element counts as one
// operation. Throws what planning throws.
std::string explain(const ProgramRef& program, const std::vector<bool>& donated = {}, Report report = {});

}  // namespace tenon
