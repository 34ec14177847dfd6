// How large values are, with sizes that vary as tenon/base/estimate.h has them; lists count as nothing.
#pragma once

#include <span>

#include "tenon/base/estimate.h"
#include "tenon/ir/program.h"

namespace tenon {

double estimated_elements(const Type& type);
double estimated_elements(const Program& program, std::span<const Var> vars);  // of all together
double estimated_bytes(const Type& type);

}  // namespace tenon
