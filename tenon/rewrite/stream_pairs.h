// Reductions over pairs: of what is computed from each row of one array with each row of another.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// sum_j f(x_i, y_j) and its kin, for all i, become a loop over j that computes f of all x with one y at each step and
// stacks it; hoist_reductions, which runs behind this, has the loop take it in, so that nothing of the size of all
// pairs is ever stored. Sums of products with few columns (K @ b) too, whichever operand is computed; what several
// reductions read is computed again for each loop that has some of them. Reductions along one axis that share what is
// computed of pairs, and do not wait for each other, share a loop, and so do those along both axes that share a costly
// value, where rows are short: a step adds its lanes up. Steps are taken several a turn, lanes of long rows a
// block at a time; products of long rows stay products of matrices, of a block and a turn. Only where something of that
// size would be stored else: a reduction
// below (a distance in a space of several dimensions), a product, or costly values that several reductions read; and
// where steps have long rows. What lies in between may be elementwise, broadcasts, transposes, reductions of other
// axes, and products that sum few terms. Numbers that are compared with what was made of the same numbers, as by a
// gradient that finds a minimum by its value, are of one loop with that, or stored: sums in another order would differ
// from it. In regions too. Exactness: reassociates (reductions of Numerics::strict stay).
// Time: eqns, and for each such reduction what it is made of, which is bounded.
ProgramRef stream_pairs(const ProgramRef& program);

}  // namespace tenon
