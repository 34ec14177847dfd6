// Attention: what is large is matrices of scores, of one head or of many, which blocks of rows keep in the caches.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Whether all that is large in a Program is one matrix or matrices of a batch, of one shape, as the scores of
// attention: products make and take them, elementwise ops and reductions along their rows lie between. The rows that a
// thread works on stay in its caches then (kernel/passes/row_blocks.h), products of matrices as they are. Linear in
// eqns.
bool has_scores(const Program& program);

}  // namespace tenon
