// Rough costs of statements, for decisions that need an order of magnitude.
#pragma once

#include <span>

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Nanoseconds on one core with vectors of 32 to 64 bytes. A walk over the expressions.
double nanoseconds(const Statement& s);
// Of one element of an expression, where neighbours share vectors.
double nanoseconds(const Expr& e);
// Instructions of their code, what blocks in them hold included.
double instructions_in(std::span<const Statement> statements);
constexpr double guessed_steps = 8;  // of a loop that a condition ends
// Whether a block is calls of functions that take long, such as units, and what lies between them: a few nanoseconds
// more for each statement are nothing then.
bool is_long_calls(const Block& block);

}  // namespace tenon::kernel
