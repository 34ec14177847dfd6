// Programs for sizes that are known.
#pragma once

#include <span>

#include "tenon/ir/program.h"

namespace tenon {

// The Program for these values of its size parameters; memoised.
ProgramRef specialised(const Program& program, std::span<const std::int64_t> sizes);

}  // namespace tenon
