// A recipe done with traced arrays, spelled as users would: the Program under test.
#pragma once

#include "tenon/ir/program.h"
#include "tests/programs/recipe.h"

namespace tenon::sample {

ProgramRef program_of(const Body& recipe);

}  // namespace tenon::sample
