// Checkpoint schedules: which carries a loop keeps on its way, and how reverse mode comes back by them. They are loops
// over a few integers, written for any loop: what keeping, running and pulling back mean is given. All steps and places
// are i64[].
//
// `every` keeps the carry of each segment's first step. `binomial` has `count` places, where the steps are not known
// beforehand by the online schedule of Wang, Moin and Iaccarino (SIAM J. Sci. Comput. 31, 2009), which needs the fewest
// repetitions; where they are, by the optimum of Griewank and Walther (ACM TOMS 26, 2000), which is also the way back.
// Both count in segments, whose steps are recorded at once.
#pragma once

#include <functional>

#include "tenon/ops/control/region.h"

namespace tenon {

struct Schedule {
  Checkpoints checkpoints;
  std::int64_t segment = 1;
  MaybeArray steps = {};  // absent: a condition decides
};

// How many carries are kept of a number of steps; of `binomial` the number is not read.
Dim places_of(const Schedule& schedule, const Dim& steps);

struct Kept {
  Array steps;    // that the loop has made
  MaybeArray at;  // i64[places]: the step of each place, or -1; of `binomial`
  Arrays state;
};
struct WayOut {
  std::function<Array(const Arrays& state)> more;  // read where the schedule does not know the steps
  std::function<Arrays(const Array& place, const Arrays& state)> keep;
  // Runs steps from one to before another, or until there are no more: the step reached, then the state.
  std::function<Arrays(const Array& from, const Array& to, const Arrays& state)> run;
};
Kept go_out(const Schedule& schedule, const WayOut& out, const Arrays& state);

struct WayBack {
  std::function<Arrays(const Array& place, const Arrays& kept)> restore;  // the carry
  std::function<Arrays(const Array& from, const Array& to, const Arrays& carry)> run;
  // What is kept, with the carry at a place where `wanted` holds.
  std::function<Arrays(const Array& place, const Array& wanted, const Arrays& carry, const Arrays& kept)> keep;
  // One segment pulled back, of which the carry is that before its first step.
  std::function<Arrays(const Array& from, const Array& to, const Arrays& carry, const Arrays& pulled)> pull;
};
// `kept.state` is what restore() and keep() have. Returns what has been pulled back.
Arrays come_back(const Schedule& schedule, const WayBack& back, const Kept& kept, const Arrays& pulled);

}  // namespace tenon
