// delta_stacks across two Programs: the first keeps residuals, the second reads them later.
#pragma once

#include <memory>

#include "tenon/ir/recurse.h"

namespace tenon {

// A first part and its reader that keep less. Results of `first`: those of the part before, then what is stored.
struct LeanParts {
  ProgramRef first, reader;
  std::vector<Partitioned::Residual> residuals;  // inputs and stored ones
};

// parts.first as linearize left it, of which the first `results` outputs are results; `reader` takes the residuals and
// then what its caller gives. What is kept of arrays that loops update in places is what each step changes. Nothing
// where delta_stacks finds nothing to do, or sizes are not known. Memoised.
std::shared_ptr<const LeanParts> delta_residuals(const Partitioned& parts, std::size_t results,
                                                 const ProgramRef& reader);

}  // namespace tenon
