#include "shapes.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include "array.h"
#include "dtypes.h"
#include "errors.h"
#include "tenon/base/error.h"
#include "tenon/ir/scope.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/shape.h"

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

std::optional<AskedInteger>& asked_integer() {
  static thread_local std::optional<AskedInteger> asked;
  return asked;
}

void note_asked_integer(const Traced& traced) {
  // Of what is computed, the first input that it is computed of.
  const Scope& scope = Scope::of(traced);
  Var v = traced.var;
  while (const Eqn* maker = scope.maker(v)) {
    if (maker->in.empty()) return;
    v = maker->in[0];
  }
  asked_integer() = AskedInteger{traced.scope, v};
}

std::int64_t integer_from(nb::handle object) {
  if (is_array(object.ptr()))
    if (const Traced* t = array_of(object.ptr()).traced(); t != nullptr && !Scope::of(*t).knows(t->var)) {
      note_asked_integer(*t);
      throw TracerIntegerConversionError(
          fmt::format("a size, an axis or a count is {}, which is traced.", array_of(object.ptr()).type().text()),
          "It is known while a function is traced: pass it by static_argnums or static_argnames of jit, or take it "
          "from the shape of an array.");
    }
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

Array dim_array(const Dim& dim) {
  const Array number = size_as_array(dim, Source());
  return (x64_enabled ? number : convert(Operand(number, Source()), DType::i32)).with_weak(true);
}

namespace {

// Of an int, and of what has its value as an index but is no array; nothing of other numbers.
std::optional<Dim> other_size(nb::handle object) {
  if (is_dim(object)) return nb::cast<Dim>(object);
  if (PyLong_Check(object.ptr()) || (PyIndex_Check(object.ptr()) && !is_array(object.ptr())))
    return Dim(integer_from(object));
  return std::nullopt;
}

bool is_number(nb::handle object) {
  return is_array(object.ptr()) || PyFloat_Check(object.ptr()) || PyComplex_Check(object.ptr());
}

nb::object by_number(bool number, const Dim& size, nb::handle other, int op) {
  if (!number) return nb::borrow(Py_NotImplemented);
  PyObject* const result = PyObject_RichCompare(array_object(dim_array(size)).ptr(), other.ptr(), op);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace

void add_shapes(nb::module_& module) {
  module.def("max_size", [](nb::handle a, nb::handle b) { return dim_object(max(dim_from(a), dim_from(b))); });
  module.def("min_size", [](nb::handle a, nb::handle b) { return dim_object(min(dim_from(a), dim_from(b))); });
  nb::class_<Dim> type(
      module, "Dim",
      "The size of an axis that is not known while a function is traced: of a jitted function that is "
      "called with several sizes, or one that data decide. It is computed with like an int; what a "
      "number is needed for, such as range(n), is a ConcretizationError, and a function that jit traced "
      "for all sizes is traced for each then.");
  type.def("__repr__", [](const Dim& d) { return d.text(); })
      .def("__hash__",
           [](const Dim& d) {
             Hasher h;
             d.hash(h);
             return static_cast<std::int64_t>(h.finish().low >> 1);
           })
      .def("__index__", [](const Dim& d) { return d.value(); })
      .def("__int__", [](const Dim& d) { return d.value(); })
      .def("__float__", [](const Dim& d) { return static_cast<double>(d.value()); })
      .def("__bool__", [](const Dim& d) { return !asked_equal(d, Dim(0)); })
      .def("__pos__", [](const Dim& d) { return dim_object(d); })
      .def("__neg__", [](const Dim& d) { return dim_object(Dim(0) - d); })
      .def("__eq__", [](const Dim& a, nb::handle b) -> nb::object {
        const auto other = other_size(b);
        return other ? nb::bool_(asked_equal(a, *other)) : by_number(is_number(b), a, b, Py_EQ);
      });
  const auto compare = [&](const char* name, int op, bool swapped, bool negated) {
    type.def(name, [=](const Dim& a, nb::handle b) -> nb::object {
      const auto other = other_size(b);
      if (!other) return by_number(is_number(b), a, b, op);
      return nb::bool_((swapped ? asked_less(*other, a) : asked_less(a, *other)) != negated);
    });
  };
  compare("__lt__", Py_LT, false, false);
  compare("__gt__", Py_GT, true, false);
  compare("__ge__", Py_GE, false, true);
  compare("__le__", Py_LE, true, true);
  const auto arithmetic = [&](const char* name, const char* reflected, Dim (*of_sizes)(const Dim&, const Dim&),
                              PyObject* (*of_numbers)(PyObject*, PyObject*)) {
    const auto either = [=](const Dim& a, nb::handle b, bool swapped) -> nb::object {
      const auto other = other_size(b);
      if (other && of_sizes != nullptr) return dim_object(swapped ? of_sizes(*other, a) : of_sizes(a, *other));
      if (!other && !is_number(b)) return nb::borrow(Py_NotImplemented);
      const nb::object x = array_object(dim_array(a)), y = other ? array_object(dim_array(*other)) : nb::borrow(b);
      PyObject* const result = swapped ? of_numbers(y.ptr(), x.ptr()) : of_numbers(x.ptr(), y.ptr());
      if (result == nullptr) throw nb::python_error();
      return nb::steal(result);
    };
    type.def(name, [=](const Dim& a, nb::handle b) { return either(a, b, false); });
    type.def(reflected, [=](const Dim& a, nb::handle b) { return either(a, b, true); });
  };
  arithmetic("__add__", "__radd__", [](const Dim& a, const Dim& b) { return a + b; }, PyNumber_Add);
  arithmetic("__sub__", "__rsub__", [](const Dim& a, const Dim& b) { return a - b; }, PyNumber_Subtract);
  arithmetic("__mul__", "__rmul__", [](const Dim& a, const Dim& b) { return a * b; }, PyNumber_Multiply);
  arithmetic(
      "__floordiv__", "__rfloordiv__", [](const Dim& a, const Dim& b) { return floor_div(a, b); },
      PyNumber_FloorDivide);
  arithmetic("__mod__", "__rmod__", [](const Dim& a, const Dim& b) { return modulo(a, b); }, PyNumber_Remainder);
  arithmetic("__truediv__", "__rtruediv__", nullptr, PyNumber_TrueDivide);
  arithmetic("__pow__", "__rpow__", nullptr, [](PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); });
}

}  // namespace tenon::python
