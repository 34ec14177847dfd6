// x[…] and x.at[…] with NumPy's indices.
#pragma once

#include <nanobind/nanobind.h>

#include "none.h"
#include "tenon/ops/composites/index.h"

namespace tenon::python {

namespace nb = nanobind;

PyObject* subscript(const Array& x, PyObject* key);  // a new reference
PyObject* iterate(PyObject* self);                   // over the first axis
PyObject* get_at(PyObject* self, void*);             // x.at
// The parts of an index into an array.
std::vector<IndexPart> parts_of(const Array& x, PyObject* key);
int refuse_assignment(PyObject*, PyObject*, PyObject*);  // x[i] = y is a TypeError

void add_indexing(nb::module_& module);

}  // namespace tenon::python
