// table: a small array whose numbers are part of the Program, as which elements a function takes.
#pragma once

#include "tenon/ir/op.h"

namespace tenon {

inline constexpr std::int64_t largest_table = 256;  // elements

// table {dtype, shape, values}: () -> T[…], of integers or truths.
const OpInfo& table_op();
bool fits_table(const Type& type);
Params table_params(const Buffer& array);  // of a type that fits
Buffer table_array(const Params& params);

}  // namespace tenon
