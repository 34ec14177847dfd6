#include "shapes.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include <unordered_set>

#include "array.h"
#include "dtypes.h"
#include "errors.h"
#include "tenon/base/error.h"
#include "tenon/ir/scope.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "text.h"

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

namespace {

// The first input that a value is computed of.
std::optional<AskedInteger> input_of(const Traced& traced) {
  const Scope& scope = Scope::of(traced);
  std::vector<Var> open{traced.var};
  std::unordered_set<Var> seen;
  while (!open.empty()) {
    const Var v = open.back();
    open.pop_back();
    if (!seen.insert(v).second) continue;
    const Eqn* maker = scope.maker(v);
    if (maker == nullptr) return AskedInteger{traced.scope, v};
    open.insert(open.end(), maker->in.rbegin(), maker->in.rend());
  }
  return std::nullopt;
}

thread_local KnownIntegers* innermost = nullptr;

}  // namespace

void note_asked_integer(const Traced& traced) {
  if (const auto input = input_of(traced)) asked_integer() = *input;
}

KnownIntegers::KnownIntegers(Argument argument) : argument_(argument), outer_(innermost) { innermost = this; }
KnownIntegers::~KnownIntegers() { innermost = outer_; }

bool KnownIntegers::tell(const Traced& traced) {
  std::optional<Traced> asked = traced;
  for (const KnownIntegers* at = innermost; at != nullptr && asked && Scope::open(*asked); at = at->outer_) {
    const auto input = input_of(*asked);
    if (!input) return false;
    const Array* const argument = at->argument_(*input);
    if (argument == nullptr) continue;
    if (argument->traced() == nullptr) return true;
    asked = *argument->traced();  // a function around this one may know it
  }
  return false;
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

namespace {

// What a function that takes a size takes; `of_array` makes one of an array whose value is not known yet.
Dim dim_of(nb::handle object, Dim (*of_array)(const Operand&)) {
  if (is_dim(object)) return nb::cast<Dim>(object);
  int overflow = 0;
  if (PyLong_Check(object.ptr()) && (PyLong_AsLongLongAndOverflow(object.ptr(), &overflow), overflow != 0))
    throw ShapeError(fmt::format("a size or a bound is {}, which does not fit in 63 bits.", str_of(object)),
                     "Check the sizes.");
  if (is_array(object.ptr())) {
    const Array& number = array_of(object.ptr());
    const Traced* t = number.traced();
    if (t != nullptr && Scope::open(*t) && number.rank() == 0 && is_integer(number.dtype()) && !KnownIntegers::tell(*t))
      return of_array({number, Source()});
  }
  return Dim(integer_from(object));
}

}  // namespace

Dim dim_from(nb::handle object) { return dim_of(object, array_as_size); }
std::optional<Dim> size_or_none(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(dim_from(object));
}

Dim bound_from(nb::handle object) { return dim_of(object, array_as_bound); }

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
  // The size as functions compute with it: an int or a Dim.
  module.def("size", [](SizeLike a) { return dim_object(a.size); });
  module.def("max_size", [](SizeLike a, SizeLike b) {
    const auto less = decided_less(a.size, b.size), greater = decided_less(b.size, a.size);
    return dim_object(less == true || greater == false ? b.size : less == false ? a.size : max(a.size, b.size));
  });
  module.def("min_size", [](SizeLike a, SizeLike b) {
    const auto less = decided_less(a.size, b.size), greater = decided_less(b.size, a.size);
    return dim_object(less == true || greater == false ? a.size : less == false ? b.size : min(a.size, b.size));
  });
  // Whether two sizes are the same, or the first is less; None where that is not known while tracing.
  const auto answer = [](std::optional<bool> known) { return known ? nb::object(nb::bool_(*known)) : nb::none(); };
  module.def("same_size", [=](SizeLike a, SizeLike b) { return answer(decided_equal(a.size, b.size)); });
  module.def("less_size", [=](SizeLike a, SizeLike b) { return answer(decided_less(a.size, b.size)); });
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
