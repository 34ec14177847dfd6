// What other special functions share with the gamma function.
#pragma once

#include <span>

#include "tenon/ir/array.h"

namespace tenon::special {

// log Γ(x) less Stirling's (x - 1/2) log x - x + log(2π) / 2, of x ≥ 1: exact where both are large.
Array stirling_rest(const Array& x);
// Which is Σ weights[k] / x^(2k + 1) of large x, complex ones too.
std::span<const double> stirling_weights();

// log Γ(1 + a) of 0 ≤ a ≤ 2, which is exact where a is small, too.
Array log_gamma_from_one(const Array& a);

// log (n! / (k! (n - k)!)), without cancellation.
Array log_of_choices(const Array& n, const Array& k);

}  // namespace tenon::special
