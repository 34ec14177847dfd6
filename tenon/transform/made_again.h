// Which sums reverse mode of a loop computes again in place of keeping one of each step.
#pragma once

#include "tenon/ir/recurse.h"

namespace tenon {

// Of the body of a loop, whose residuals are stacked: its reductions and products, by eqn, whose results are far larger
// than all that they are made of, and that take few terms an element. Such are the distances of one point from all
// others, as a step of a simulation or of a map over rows has them: T steps of M points beside N keep T·M·N numbers,
// and computed again T·M and N. What they are made of: numbers of the step, constants, and what may not be computed
// again. Linear in the eqns, as what one is made of is followed through `most_followed` of them.
std::vector<bool> sums_made_again(const Program& body, const PartitionRequest& request);

}  // namespace tenon
