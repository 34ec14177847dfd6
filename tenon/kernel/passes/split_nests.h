// Pieces: nests over axes whose parts come from different places (concatenate, pad) become a nest for each part.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

inline constexpr std::size_t most_pieces = 16;  // of a nest
// Rewrites the Function. Comparisons of indices that the ranges of the loops decide are decided; where a nest's own
// index decides them, the nest is cut there, so that no element is chosen by comparing. Linear in the expressions,
// times the pieces of a nest.
void split_nests(Function& function);

}  // namespace tenon::kernel
