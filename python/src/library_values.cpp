#include "library_values.h"

#include <nanobind/stl/string.h>

#include "errors.h"

namespace tenon::python {

void throw_not_taken(const Asked& asked, const char* what, nb::handle given) {
  const std::string text = nb::cast<std::string>(nb::repr(given));
  throw_option_error(fmt::format("{}: {} is {}, which is no {}.", asked.function, asked.parameter, text, what));
}

void require_members(const Asked& asked, nb::handle given, std::size_t count) {
  if (PySequence_Check(given.ptr()) == 0 || nb::len(given) != count)
    throw_not_taken(asked, fmt::format("sequence of {}", count).c_str(), given);
}

std::function<Array(const Array&)> Argument<std::function<Array(const Array&)>>::taken(const Asked& asked,
                                                                                       nb::handle given) {
  if (!nb::isinstance<nb::callable>(given)) throw_not_taken(asked, "function", given);
  return [name = std::string(asked.function), f = nb::borrow(given)](const Array& x) { return operand(name, f(x)); };
}

Bins Argument<Bins>::taken(const Asked& asked, nb::handle given) {
  if (PyIndex_Check(given.ptr()) != 0 && !is_array(given.ptr())) return dim_from(given);
  const Array a = operand(asked.function, given);
  if (a.rank() == 0) return dim_from(given);
  return a;
}

std::int64_t Argument<std::int64_t>::taken(const Asked& asked, nb::handle given) {
  if (PyIndex_Check(given.ptr()) == 0) throw_not_taken(asked, "integer", given);
  return integer_from(given);
}

bool Argument<bool>::taken(const Asked&, nb::handle given) {
  const int truth = PyObject_IsTrue(given.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

double Argument<double>::taken(const Asked& asked, nb::handle given) {
  const double value = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred() == nullptr) return value;
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  throw_not_taken(asked, "number", given);
}

std::string Argument<std::string>::taken(const Asked& asked, nb::handle given) {
  if (!nb::isinstance<nb::str>(given)) throw_not_taken(asked, "name", given);
  return nb::cast<std::string>(given);
}

}  // namespace tenon::python
