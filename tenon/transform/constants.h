// What transformations make out of nothing: zeros, sums, selections. They know no other op by name.
#pragma once

#include "tenon/ir/bind.h"

namespace tenon {

Array zeros_of(const Type& type);              // an empty list for list types
Array sum_of(const Array& a, const Array& b);  // of equal types

}  // namespace tenon
