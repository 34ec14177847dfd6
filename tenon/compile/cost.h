// Rough costs of statements, for decisions that need an order of magnitude.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon {

// Nanoseconds on one core with vectors of 32 to 64 bytes. A walk over the expressions.
double nanoseconds(const kernel::Statement& s);

}  // namespace tenon
