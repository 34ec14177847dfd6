// Moves a loop to where its stacked outputs are reduced: into the branches that alone read them.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A loop that only the branches of one cond read, in one of which a reduction of a stacked output can move into the
// loop, becomes a part of each branch: one of them runs, and so does the loop, once. The Program with the first such
// loop moved; null where there is none. Of known sizes; loops with effects stay. Linear in the eqns, and in those of
// the branches of what moves.
ProgramRef move_loop_into_branches(const Program& program);

}  // namespace tenon
