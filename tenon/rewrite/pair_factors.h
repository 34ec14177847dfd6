// Signs and twos that all terms of a sum over pairs have, taken behind the sum.
#pragma once

#include <set>

#include "tenon/ir/program.h"

namespace tenon {

// The sums among these eqns, of what is negated or doubled element by element, within products too, as negated or
// doubled sums: sum(-x) = -sum(x), sum(x (y + y)) = 2 sum(x y). So derivatives of squared distances have no op more a
// pair than they need. Only where every term is added up anyway in another order than the one that is written; the
// Program itself where no sum has any. Linear in the eqns.
ProgramRef without_factors(const ProgramRef& program, const std::set<std::size_t>& sums);

}  // namespace tenon
