// Sizes that a Program's own data decide: whoever applies it learns them only from its results.
#pragma once

#include <span>

#include "tenon/ir/program.h"

namespace tenon {

// Whether a type has other sizes than those given and numbers.
bool has_other_sizes(const Type& type, std::span<const SizeVar> given);

// Whether a type of the Program has a size that its data decide.
bool has_decided_size(const Program& program, const Type& type);

}  // namespace tenon
