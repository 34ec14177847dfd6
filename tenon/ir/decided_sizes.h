// Sizes that a Program's own data decide: whoever applies it learns them only from its results.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Whether a type of the Program has such a size.
bool has_decided_size(const Program& program, const Type& type);

}  // namespace tenon
