// Which reductions one_pass takes together: those that all others wait for, and sums of terms that can be moved from
// what a part has to what the whole has.
#pragma once

#include <vector>

#include "tenon/ir/program.h"
#include "tenon/rewrite/waiting_sums.h"

namespace tenon {

// The axis that is divided into parts of `each` elements, and what is left of it.
struct DividedAxis {
  std::int64_t axis, parts, each, left;
};
struct OnePass {
  FirstReduction first;
  DividedAxis divided;
  std::vector<WaitingSum> sums;
};
// Those that can be written anew together: none needs early what another one makes. In the order of `first`.
std::vector<OnePass> find_one_passes(const Program& program);

}  // namespace tenon
