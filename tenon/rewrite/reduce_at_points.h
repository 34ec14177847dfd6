// Reductions of what is zero but at a few points read these points alone, and so do gathers of what is computed.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Derivatives of an extremum, of the first elements in order, or of labels that are read, are zero but where these
// elements lie. Of all pairs they are arrays as large as these, of which sums are taken: along a row there is one term
// for each point, and across rows each term goes to a place that is known. Points are comparisons of elements with the
// extremum of all along an axis, where stream_pairs, which runs behind this, finds that extremum without storing the
// elements; and scatters that add few elements. What is made of points by sums, factors, choices, broadcasts and
// transposes is computed there alone, and so is what lies beside it there; sums of terms that are of no points are
// taken by themselves. A gather of few elements of an array that is made of far fewer computes these. Where an extremum
// is attained several times, each such element has its part: a branch that is run where the two first elements of some
// row are equal, or one is NaN, computes blocks of rows one after the other. An array of the size of all pairs is
// stored in neither. Sizes have to be known. Exactness: reassociates (reductions of Numerics::strict stay). A zero
// times what is infinite or NaN elsewhere is left out. Time: eqns, and for each such reduction what it is made of,
// which is bounded. The Program that is made reads, and computes, as many elements as there are points.
ProgramRef reduce_at_points(const ProgramRef& program);

}  // namespace tenon
