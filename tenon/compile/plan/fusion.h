// Fusion: which elementwise values are stored, and which of them share a nest.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

struct Fusion {
  // Why a value is stored: a phrase, and the op that reads it where the phrase ends in "of".
  struct Reason {
    std::string_view phrase;
    std::string_view reader;
  };
  std::vector<bool> stored;        // by variable; others are computed where they are read
  std::vector<std::size_t> group;  // stored variables of one group are computed in one nest
  std::vector<Reason> reasons;     // of stored variables
  std::vector<bool> ends;          // of expressions: stored once their group is there, not when they are read
  std::size_t groups = 0;
  std::size_t fresh_group() { return groups++; }
};

// Everything fuses into what reads it, but for: outputs and operands of products, loops, branches and scatters; ends of
// expressions of 400 eqns one behind the other, since what compiles an expression recurs as deep as it is; what keeps
// nests below 800 values or so, where that is cheap; concatenations of many arrays; and costly values that different
// nests read, or one nest at different indices, where computing them again costs more than a round trip through a cache
// or, of arrays over 1 MB, through memory. Values of equal shape and equal depth below reductions and structures share
// a nest, unless one reads another at another index. Six walks over the eqns, and a sort of what is in large nests.
Fusion fuse(const Program& program);
// A concatenation of so many arrays that choosing among them costs more than a copy: it is stored part by part.
bool has_many_parts(const Eqn& eqn);

// Whether an eqn combines updates with what is there: they and, where that is cheap, the places are then computed where
// they are combined.
bool combines_updates(const Program& program, const Eqn& eqn);

}  // namespace tenon
