// Arrays to and from other libraries without a copy, and as text.
#pragma once

#include <nanobind/nanobind.h>

#include "none.h"
#include "tenon/ir/array.h"

namespace tenon::python {

namespace nb = nanobind;

int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);
nb::object represented(nb::handle object);  // repr of an Array

void add_interchange(nb::module_& module);

}  // namespace tenon::python
