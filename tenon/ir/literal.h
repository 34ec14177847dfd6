// The two ops that tracing itself needs: numbers, and equality of sizes that only the run can decide.
#pragma once

#include <utility>

#include "tenon/ir/op.h"

namespace tenon {

// literal {value}: () -> T[]. The only constants of a Program.
const OpInfo& literal_op();
Params literal_params(const Scalar& value);
const Scalar& literal_value(const Params& params);

// require_equal {a, b}: () -> (). Stops the run with a ShapeError when two sizes differ.
const OpInfo& require_equal_op();
// `asked`: what the error says of who needs it; it is not part of a Program's text or hash.
Params require_equal_params(const Dim& a, const Dim& b, std::string asked);
std::pair<Dim, Dim> sizes_to_be_equal(const Params& params);

}  // namespace tenon
