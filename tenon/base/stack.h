// How much of its stack a thread has left. Functions in functions and Programs in Programs are walked by functions that
// call themselves: what nests deeper than the stack reaches ends in an error.
#pragma once

namespace tenon {

// Throws NestingError where less than a reserve is left: a quarter of the stack, at most 2 MiB,
// in which what compiles and runs a program has room.
void require_stack();

}  // namespace tenon
