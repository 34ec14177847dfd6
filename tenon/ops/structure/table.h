// table: a small array whose numbers are part of the Program, as which elements a function takes.
#pragma once

#include "tenon/ir/op.h"

namespace tenon {

inline constexpr std::int64_t largest_table = 256;      // elements of an array that becomes one
inline constexpr std::int64_t longest_table = 1 << 16;  // of one that a pass writes

// table {dtype, shape, values}: () -> T[…], of all dtypes of at most eight bytes.
const OpInfo& table_op();
bool fits_table(const Type& type);         // of integers or truths: what other numbers follow from is not folded
Params table_params(const Buffer& array);  // at most longest_table elements
Buffer table_array(const Params& params);

}  // namespace tenon
