// The Python object of an array: a tenon::Array behind Python's header. A value: concrete, traced or donated.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "none.h"
#include "tenon/ir/array.h"

namespace tenon::python {

namespace nb = nanobind;

struct ArrayObject {
  PyObject ob_base;
  PyObject* weak_references;
  Array array;
  std::unique_ptr<const Type> traced_type;  // of a traced array: it can be told when the trace has ended, too
};

extern PyTypeObject* array_type;  // tenon.Array

inline bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }
inline Array& array_of(PyObject* object) { return reinterpret_cast<ArrayObject*>(object)->array; }
// What is known of an array whose values are not there any more, too: leaked ones and donated ones.
Type type_of_object(PyObject* object);

// A new reference. Throws nb::python_error where there is no memory.
PyObject* new_array(Array array);
inline nb::object array_object(Array array) { return nb::steal(new_array(std::move(array))); }

void add_array_type(nb::module_& module);

}  // namespace tenon::python
