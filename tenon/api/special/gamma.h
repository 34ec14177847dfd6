// What other special functions share with the gamma function.
#pragma once

#include "tenon/ir/array.h"

namespace tenon::api_detail {

// log Γ(x) less Stirling's (x - 1/2) log x - x + log(2π) / 2, of x > 0: exact where both are large.
Array stirling_rest(const Array& x);

}  // namespace tenon::api_detail
