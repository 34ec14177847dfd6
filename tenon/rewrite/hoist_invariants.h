// What a loop need not compute step by step, computed before it or behind it.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// What is computed of constants of a loop alone becomes a constant itself, with what it reads: sums, products,
// factors, orders, loops, and elementwise ops that cost more than reading their results, such as exponentials. Cheap
// elementwise ops stay where they fuse with what reads them; so does what would take more than twice the memory of the
// arrays that it is made of, as what is computed of all pairs of rows. Loops that run no step compute it once for
// nothing: only pure eqns go, of which none can fail, so that calls of the host stay. In regions too; nested loops
// first, so that one run takes an eqn out of all loops that it does not depend on. Exact; linear in the eqns times the
// depth of loops; memoised.
ProgramRef hoist_invariants(const ProgramRef& program);

// Of this, products of matrices alone, where all steps together multiply more often with one than it takes to make it:
// before rules choose an order of products, since these look at one step, for which `(c @ w) @ w` is less than
// `c @ (w @ w)`. In regions too; linear as above; memoised.
ProgramRef hoist_matrices(const ProgramRef& program);

// Products of few rows that a step makes of its elements and of constants alone (the input of a recurrent cell, by its
// weights) become one product of all steps, whose rows the steps read: a matrix is read once then, not once a step. It
// takes memory for the rows of all steps, and none for rows that are far longer than what a step makes them of, as a
// row of all pairs is. Where a step has many rows, or the matrix stays in the first-level cache, products stay in the
// steps. In regions too; linear as above; memoised. Sums may be taken in another order.
ProgramRef hoist_maps(const ProgramRef& program);

// The same of what steps only stack, behind the loop: products of a constant matrix with few rows (the outputs of a
// recurrent cell by its weights, the cotangents of its inputs) become one of the stacked rows. What a reduction takes
// in is not stacked, and stays: this runs after hoist_reductions.
ProgramRef delay_maps(const ProgramRef& program);

}  // namespace tenon
