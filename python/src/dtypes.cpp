#include "dtypes.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <array>
#include <string>

#include "tenon/base/error.h"
#include "text.h"

namespace tenon::python {

bool x64_enabled = true;

namespace {

// In DType's order.
constexpr std::array<const char*, dtype_count> names{"bool",
                                                     "int8",
                                                     "int16",
                                                     "int32",
                                                     "int64",
                                                     "uint8",
                                                     "uint16",
                                                     "uint32",
                                                     "uint64",
                                                     "float8_e8m0fnu",
                                                     "float8_e3m4",
                                                     "float8_e4m3",
                                                     "float8_e4m3b11fnuz",
                                                     "float8_e4m3fn",
                                                     "float8_e4m3fnuz",
                                                     "float8_e5m2",
                                                     "float8_e5m2fnuz",
                                                     "float16",
                                                     "bfloat16",
                                                     "float32",
                                                     "float64",
                                                     "complex64",
                                                     "complex128"};

// np.dtype objects by dtype, and dtypes by what users have named them with. Python's, so they are never freed.
std::array<PyObject*, dtype_count> objects{};
PyObject* known = nullptr;  // dict: object -> number of a dtype

std::optional<DType> by_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return static_cast<DType>(i);
  return std::nullopt;
}

DType find(nb::handle object) {
  const nb::object numpy = nb::module_::import_("numpy");
  nb::object dtype;
  if (nb::isinstance<nb::str>(object))  // which NumPy does not know before ml_dtypes is there
    if (const auto named = by_name(str_of(object)); named && is_extended(*named)) return *named;
  try {
    dtype = numpy.attr("dtype")(object);
  } catch (nb::python_error&) {
    throw DTypeError("dtype: " + repr_of(object) + " is no dtype.",
                     "Name one as NumPy does: np.float32, 'float32', float.");
  }
  const auto name = str_of(nb::object(dtype.attr("name")));
  if (const std::optional<DType> found = by_name(name)) return *found;
  throw DTypeError("dtype: arrays of " + name + " are not there.", all_dtypes);
}

}  // namespace

const char* numpy_name(DType dtype) { return names[static_cast<std::size_t>(dtype)]; }
bool is_extended(DType dtype) { return is_float8(dtype) || dtype == DType::bf16; }

DType canonical(DType dtype) {
  if (x64_enabled) return dtype;
  switch (dtype) {
    case DType::i64:
      return DType::i32;
    case DType::u64:
      return DType::u32;
    case DType::f64:
      return DType::f32;
    case DType::c128:
      return DType::c64;
    default:
      return dtype;
  }
}

nb::object numpy_dtype(DType dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  if (objects[i] == nullptr) {
    const nb::object scalar =
        is_extended(dtype) ? nb::module_::import_("ml_dtypes").attr(names[i]) : nb::object(nb::str(names[i]));
    objects[i] = nb::object(nb::module_::import_("numpy").attr("dtype")(scalar)).release().ptr();
  }
  return nb::borrow(objects[i]);
}

DType dtype_from(nb::handle object) {
  if (known == nullptr) known = PyDict_New();
  if (known == nullptr) throw nb::python_error();
  const bool hashable = PyObject_Hash(object.ptr()) != -1;
  if (!hashable) PyErr_Clear();
  if (hashable)
    if (PyObject* at = PyDict_GetItemWithError(known, object.ptr())) return static_cast<DType>(PyLong_AsSize_t(at));
  const DType dtype = find(object);
  if (hashable) {
    const nb::object number = nb::steal(PyLong_FromSize_t(static_cast<std::size_t>(dtype)));
    if (PyDict_SetItem(known, object.ptr(), number.ptr()) != 0) throw nb::python_error();
  }
  return dtype;
}

void add_dtypes(nb::module_& module) {
  module.def(
      "set_x64",
      [](bool on) {
        x64_enabled = on;
        let_promotion_widen(on);
      },
      nb::arg("on"));
  module.def("x64", [] { return x64_enabled; });
  module.def("dtype", [](DType dtype) { return dtype; }, "The np.dtype that something names.");
  module.def(
      "canonical_dtype", [](DType dtype) { return canonical(dtype); },
      "The dtype that arrays have where this one is asked for.");
  module.def(
      "extended_dtypes",
      [] {
        nb::list all;
        for (int i = 0; i < dtype_count; ++i)
          if (is_extended(static_cast<DType>(i))) all.append(numpy_name(static_cast<DType>(i)));
        return nb::tuple(all);
      },
      "The names of the dtypes that are ml_dtypes', not NumPy's.");
  module.def(
      "promote_types",
      [](DType a, bool a_weak, DType b, bool b_weak) {
        const Promoted both = promote(a, a_weak, b, b_weak);
        return std::pair(both.dtype, both.weak);
      },
      "The dtype in which two meet, and whether it is weak.");
}

}  // namespace tenon::python
