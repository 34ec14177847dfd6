// The library's functions in Python, tenon._core.tn: one file for each public header, written by
// tools/functions/bindings.py.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "none.h"

namespace tenon::python {

namespace nb = nanobind;

void add_library(nb::module_& module);
// The module of a namespace inside tn, made where it is not there: of "nn::initializers" tn.nn.initializers.
nb::module_ space_of(nb::module_& module, std::string_view space);

}  // namespace tenon::python
