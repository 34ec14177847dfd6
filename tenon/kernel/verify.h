// What holds of every Function of the loop language; passes and the code generator rely on it.
#pragma once

#include <string_view>

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Throws VerifyError that names the pass, the statement and what is wrong, where
// - a slot is not there, is no argument of the caller, or holds other bytes than its elements;
// - operands of an operation do not agree in dtype, a condition is no bool, an offset is no i64, or what is stored or
//   read is not of the slot's dtype;
// - a variable is read outside of the statement that defines it, or defined again within it;
// - a size has a parameter that the Function lacks, or is negative, or lies in a slot that is of none;
// - an access with known sizes that no condition guards is outside of its slot, as the ranges of indices show;
// - a slot that blocks have each for itself is touched elsewhere;
// - a size that is found as the code runs, memory of such a size, or an element of a list is not there yet
//   (verify_found.h).
// Linear in the statements and the nodes of their expressions.
void verify(const Function& function, std::string_view pass = {});

}  // namespace tenon::kernel
