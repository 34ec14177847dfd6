// Scatters of few elements a row as choices.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A scatter that adds up to four elements to each row of zeros is, for each element of the row, their sum or zero: what
// reads it element by element computes it there, a loop's step its own row, and no row of zeros is stored. So the
// cotangent of labels that are read, as cross-entropies have it, costs a comparison an element. So is one that adds one
// of the rows of each lane, as the cotangent of a sequence's last valid step is. Axes of 32 places and more are chosen
// along; all others go in step with the indices, or are added whole. reduce_at_points, which runs before this, takes
// what sums of such arrays need. Scatters of Numerics::strict too. In regions too. Exact; linear in the eqns; memoised.
ProgramRef choose_scattered(const ProgramRef& program);

}  // namespace tenon
