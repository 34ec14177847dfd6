// Products of narrow numbers: which operands a product of matrices reads before they are converted for it.
#pragma once

#include <array>
#include <span>

#include "tenon/ir/program.h"

namespace tenon {

// The operands of a product; both as they were before they were converted to the dtype of its sums, where the library
// multiplies such factors as it would their conversions (are_factors()), the product is large or of sizes that vary,
// and its order of summation is free.
std::array<Var, 2> factors_of(const Program& program, const Eqn& product, std::span<const Eqn* const> makers);

// Products of bytes of few multiplications, or of few numbers, are nests: they read them as fast.
bool has_library_of_bytes(const Dim& m, const Dim& n, const Dim& multiplications);

}  // namespace tenon
