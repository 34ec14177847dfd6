// What Python says of an object: str(x), repr(x), the name of its class.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace tenon::python {

namespace nb = nanobind;

inline std::string utf8(PyObject* text) {
  const nb::object held = nb::steal(text);
  const char* bytes = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
  if (bytes == nullptr) throw nb::python_error();
  return bytes;
}
inline std::string str_of(nb::handle object) { return utf8(PyObject_Str(object.ptr())); }
inline std::string repr_of(nb::handle object) { return utf8(PyObject_Repr(object.ptr())); }
inline std::string class_of(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

}  // namespace tenon::python
