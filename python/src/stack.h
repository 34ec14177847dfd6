// Recursion through compiled functions, which Python's own limit does not always end before the stack does.
#pragma once

namespace tenon::python {

// Throws Python's RecursionError where this thread's stack is almost used up.
void require_stack();

}  // namespace tenon::python
