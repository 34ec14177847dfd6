// The user's line of Python: of the innermost frame outside of this package.
#pragma once

#include <nanobind/nanobind.h>

#include "none.h"
#include "tenon/base/source.h"

namespace tenon::python {

namespace nb = nanobind;

// Unknown where no such frame is there.
Source user_line();

// Where a code object begins, and whether that is within this package.
Source first_line(nb::handle code, bool& within);

void add_source_lines(nb::module_& module);

}  // namespace tenon::python
