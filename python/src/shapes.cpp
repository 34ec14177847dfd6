#include "shapes.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include "array.h"
#include "errors.h"
#include "tenon/base/error.h"
#include "tenon/ir/scope.h"

namespace tenon::python {

nb::object dim_object(const Dim& dim) {
  if (dim.known()) return nb::steal(PyLong_FromLongLong(dim.value()));
  return nb::cast(dim);
}

nb::object shape_object(const Shape& shape) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.rank())));
  for (std::size_t i = 0; i < shape.rank(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), dim_object(shape[i]).release().ptr());
  return tuple;
}

bool is_dim(nb::handle object) { return nb::isinstance<Dim>(object); }

std::int64_t integer_from(nb::handle object) {
  if (is_array(object.ptr()))
    if (const Traced* t = array_of(object.ptr()).traced(); t != nullptr && !Scope::of(*t).knows(t->var))
      throw TracerIntegerConversionError(
          fmt::format("a size, an axis or a count is {}, which is traced.", array_of(object.ptr()).type().text()),
          "It is known while a function is traced: pass it by static_argnums or static_argnames of jit, or take it "
          "from the shape of an array.");
  const Py_ssize_t value = PyNumber_AsSsize_t(object.ptr(), PyExc_OverflowError);
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

Dim dim_from(nb::handle object) { return is_dim(object) ? nb::cast<Dim>(object) : Dim(integer_from(object)); }

Shape shape_from(nb::handle object) {
  if (is_dim(object) || PyIndex_Check(object.ptr())) {
    // An array of one axis has an index's slot too, and is a sequence of sizes.
    const bool one = is_array(object.ptr()) ? array_of(object.ptr()).rank() == 0 : !PySequence_Check(object.ptr());
    if (one || PyLong_Check(object.ptr())) return Shape{dim_from(object)};
  }
  Shape shape;
  for (nb::handle size : nb::iter(object)) shape.push_back(dim_from(size));
  return shape;
}

std::vector<std::int64_t> integers_from(nb::handle object) {
  if (PyLong_Check(object.ptr()) || !PySequence_Check(object.ptr())) return {integer_from(object)};
  std::vector<std::int64_t> all;
  for (nb::handle each : nb::iter(object)) all.push_back(integer_from(each));
  return all;
}

void add_shapes(nb::module_& module) {
  nb::class_<Dim>(module, "Dim", "The size of an axis that data decide: known when a compiled function runs.")
      .def("__repr__", [](const Dim& d) { return d.text(); })
      .def("__hash__",
           [](const Dim& d) {
             Hasher h;
             d.hash(h);
             return static_cast<std::int64_t>(h.finish().low >> 1);
           })
      .def("__index__", [](const Dim& d) { return d.value(); })
      .def("__int__", [](const Dim& d) { return d.value(); })
      .def("__eq__",
           [](const Dim& a, nb::handle b) { return (is_dim(b) || PyIndex_Check(b.ptr())) && a == dim_from(b); })
      .def("__add__", [](const Dim& a, nb::handle b) { return dim_object(a + dim_from(b)); })
      .def("__radd__", [](const Dim& a, nb::handle b) { return dim_object(dim_from(b) + a); })
      .def("__sub__", [](const Dim& a, nb::handle b) { return dim_object(a - dim_from(b)); })
      .def("__rsub__", [](const Dim& a, nb::handle b) { return dim_object(dim_from(b) - a); })
      .def("__mul__", [](const Dim& a, nb::handle b) { return dim_object(a * dim_from(b)); })
      .def("__rmul__", [](const Dim& a, nb::handle b) { return dim_object(dim_from(b) * a); })
      .def("__floordiv__", [](const Dim& a, nb::handle b) { return dim_object(floor_div(a, dim_from(b))); })
      .def("__mod__", [](const Dim& a, nb::handle b) { return dim_object(modulo(a, dim_from(b))); });
}

}  // namespace tenon::python
