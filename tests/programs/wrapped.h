// Statements whose body is a function under a transformation: with rules of its own, computed again, differentiated,
// mapped over rows, called on the host, or one that writes references.
#pragma once

#include <functional>

#include "tenon/ir/value.h"
#include "tests/programs/choices.h"

namespace tenon::sample {

// The same function each time it is called with an array of one type, and none but what its argument gives it: rules
// are traced when they are asked for, and more than once.
using Body = std::function<Array(const Array&)>;

// Of a real array, not empty. `true_rules`: rules are the derivatives, not something else.
Array some_wrapped(Choices& choices, const Body& body, const Array& x, bool true_rules);

}  // namespace tenon::sample
