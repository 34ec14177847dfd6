// How much of its stack a thread has left. Functions in functions and Programs in Programs are walked by functions that
// call themselves: what nests deeper than the stack reaches ends in an error.
#pragma once

namespace tenon {

// Throws NestingError where less than a reserve is left: a quarter of the stack, at most 1 MiB.
void require_stack();

}  // namespace tenon
