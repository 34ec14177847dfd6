// Functions of the package: calls outside of traces that come again and again are compiled.
//
// An op that runs by itself costs what it costs to find its code, and a function of ten ops costs that ten times, and
// the interpreter's time. What is called often with small arrays of the same types, and otherwise equal arguments,
// becomes one program. Its ops of elements are rounded one by one, as before: as_op_by_op (tenon/rewrite/strictly.h).
#pragma once

#include <nanobind/nanobind.h>

#include "none.h"

namespace tenon::python {

namespace nb = nanobind;

// A callable like f, a function of arrays. It has none of f's attributes.
nb::object repeated(nb::object f);

}  // namespace tenon::python
