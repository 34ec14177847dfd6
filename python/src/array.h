// The Python object of an array: a tenon::Array behind Python's header. A value: concrete, traced or donated.
#pragma once

#include <nanobind/nanobind.h>

#include "none.h"
#include "tenon/ir/array.h"

namespace tenon::python {

namespace nb = nanobind;

struct ArrayObject {
  PyObject ob_base;
  PyObject* weak_references;
  Array array;
};

extern PyTypeObject* array_type;  // tenon.Array

inline bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }
inline Array& array_of(PyObject* object) { return reinterpret_cast<ArrayObject*>(object)->array; }

// A new reference. Throws nb::python_error where there is no memory.
PyObject* new_array(Array array);
inline nb::object array_object(Array array) { return nb::steal(new_array(std::move(array))); }

void add_array_type(nb::module_& module);

}  // namespace tenon::python
