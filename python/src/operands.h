// What Python gives where an array is wanted: an Array, a number, memory of NumPy's and others'.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>

#include "array.h"
#include "none.h"

namespace tenon::python {

// Python's numbers are weakly typed; NumPy's, and memory, have their dtype. Memory that its owner may write is copied.
// False where the object is none of these. Throws DTypeError, or OverflowError for an int of more than 64 bits.
bool operand_from(PyObject* object, Array& to);
// The same in place of memory: no copy is made, so nobody else may write it while the array lives.
bool borrowed_operand_from(PyObject* object, Array& to);
// Throws DTypeError that names `op`.
Array operand(std::string_view op, nb::handle object);
// Nothing where Python says None.
inline std::optional<Array> operand_or_none(std::string_view op, nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(operand(op, object));
}

// An argument of a bound function, taken when the function says who asks.
struct ArrayLike {
  nb::handle object;
  Array array(std::string_view op) const { return operand(op, object); }
};

// Memory by the buffer protocol (NumPy's and others').
enum class Memory : std::uint8_t { shared, copied, copied_if_writable };
Array array_from_memory(nb::handle object, Memory how);

}  // namespace tenon::python

namespace nanobind::detail {

template <>
struct type_caster<tenon::python::ArrayLike> {
  NB_TYPE_CASTER(tenon::python::ArrayLike, const_name("ArrayLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = source;
    return true;
  }
};

template <>
struct type_caster<tenon::Array> {
  static constexpr auto Name = const_name("Array");
  using Value = tenon::Array;
  static handle from_cpp(tenon::Array array, rv_policy, cleanup_list*) {
    return tenon::python::new_array(std::move(array));
  }
};

}  // namespace nanobind::detail
