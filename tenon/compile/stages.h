// Stages: a Program some of whose sizes its data decide, cut where these become known, and at what has no native form.
#pragma once

#include <optional>
#include <vector>

#include "tenon/ir/program.h"

namespace tenon {

// Three Programs one behind the other, of the variables of a whole one: `first` has a native form; `deciding` has none,
// and gives sizes; `rest` takes these as its size parameters, and may be cut in turn once they are known. Each reads
// inputs of the whole and results before it.
struct Stages {
  struct Stage {
    ProgramRef program;
    std::vector<Var> in, out;  // of the whole
  };
  Stage first, deciding, rest;
  std::vector<SizeVar> sizes;  // of the whole, those of `rest`
};

// Cuts a Program without size parameters and effects; nothing where no sizes are decided and no op is without a native
// form, or where nothing is gained: loops are what is worth it, since without native code each of their steps is
// evaluated op by op. Linear in the eqns.
std::optional<Stages> stages(const Program& program);

bool has_regions(const Program& program);  // loops, branches

}  // namespace tenon
