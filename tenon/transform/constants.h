// The sum of two values of any type, which transformations need.
#pragma once

#include "tenon/ir/bind.h"

namespace tenon {

Array sum_of(const Array& a, const Array& b);  // of equal types

}  // namespace tenon
