// The order in which several operands are multiplied two at a time, where axes go by letters.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon {

// Letters are bits. An axis is summed in the last product that has its letter, unless the result has it too.
struct Contraction {
  std::vector<std::uint64_t> operands;
  std::uint64_t result = 0;
  std::vector<double> sizes;  // by letter
};

// Pairs of places among the operands that are left; what a pair makes goes to the end. Up to twelve operands in the
// order of the fewest operations: a product of u elements before it is summed is u, and as many additions. Of n
// operands more than twelve those are multiplied first, as long as there are more, whose product is least above what
// the two hold, of such that have a letter together and are neighbours among those that have it: n log n for a number
// of letters.
using ContractionOrder = std::vector<std::pair<std::size_t, std::size_t>>;
ContractionOrder contraction_order(const Contraction& of);

}  // namespace tenon
