// Which reductions one_pass takes together: those that all others wait for, and sums of terms that can be moved from
// what a part has to what the whole has.
#pragma once

#include <compare>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/kernel/expr.h"

namespace tenon {

// What is summed: coefficient · Π elements · Π rows · Π exp(x - r) · Π (x - r), where all choices are met, else 0.
struct SummedTerm {
  struct Factor {
    Var of;
    bool divides = false;
    friend auto operator<=>(const Factor&, const Factor&) = default;
  };
  struct Choice {
    Var condition;
    bool met;
    friend auto operator<=>(const Choice&, const Choice&) = default;
  };
  double coefficient = 1;
  std::vector<Factor> elements = {};                // arrays that wait for nothing
  std::vector<Factor> rows = {};                    // broadcasts along the axes that are reduced
  std::vector<Choice> choices = {};                 // which wait for nothing either
  std::vector<Var> exponents = {}, distances = {};  // each r, a broadcast too
};
struct WaitingSum {
  std::size_t eqn;
  std::vector<SummedTerm> terms;
};
// The axis that is divided into parts of `each` elements, and what is left of it.
struct DividedAxis {
  std::int64_t axis, parts, each, left;
};
struct OnePass {
  std::size_t first;  // the reduction that the sums wait for: a maximum, or a sum
  bool largest;
  Var x;
  std::vector<std::int64_t> axes;
  DividedAxis divided;
  std::vector<WaitingSum> sums;
};
// Those that can be written anew together: none needs early what another one makes. In the order of `first`.
std::vector<OnePass> find_one_passes(const Program& program);

}  // namespace tenon
