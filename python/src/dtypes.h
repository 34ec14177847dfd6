// dtypes by NumPy's names, and whether 64-bit types are in use.
#pragma once

#include <nanobind/nanobind.h>

#include "none.h"
#include "tenon/base/dtype.h"

namespace tenon::python {

namespace nb = nanobind;

// tn.config.x64: off, 64-bit data becomes 32-bit, as JAX has it by default.
extern bool x64_enabled;
DType canonical(DType dtype);

// What errors say where another one is asked for.
inline constexpr const char* all_dtypes =
    "There are bool, integers of 8 to 64 bits, float16, bfloat16, float32, float64, complex numbers and eight float8.";
// Whether its np.dtype is one of the package ml_dtypes, which has no format in the buffer protocol.
bool is_extended(DType dtype);
// np.dtype of a dtype. ImportError where it is one of ml_dtypes and that is not there.
nb::object numpy_dtype(DType dtype);
const char* numpy_name(DType dtype);  // "float32"
// What NumPy takes for a dtype: np.float32, "float32", float, an object with a `dtype`. As it is, not canonical.
// Throws DTypeError.
DType dtype_from(nb::handle object);

// Of a function's argument: canonical, with a warning where that is another one.
struct DTypeArgument {
  DType dtype = DType::f32;
  operator DType() const { return dtype; }
};

void add_dtypes(nb::module_& module);

}  // namespace tenon::python

namespace nanobind::detail {

template <>
struct type_caster<tenon::python::DTypeArgument> {
  NB_TYPE_CASTER(tenon::python::DTypeArgument, const_name("DTypeLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    value.dtype = tenon::python::canonical(tenon::python::dtype_from(source));
    return true;
  }
};

template <>
struct type_caster<tenon::DType> {
  NB_TYPE_CASTER(tenon::DType, const_name("DTypeLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    value = tenon::python::dtype_from(source);
    return true;
  }
  static handle from_cpp(tenon::DType dtype, rv_policy, cleanup_list*) {
    return tenon::python::numpy_dtype(dtype).release();
  }
};

}  // namespace nanobind::detail
