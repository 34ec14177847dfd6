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

constexpr std::array<const char*, 15> names{"bool",     "int8",    "int16",   "int32",     "int64",
                                            "uint8",    "uint16",  "uint32",  "uint64",    "float16",
                                            "bfloat16", "float32", "float64", "complex64", "complex128"};
constexpr std::array<DType, 15> dtypes{DType::bool_, DType::i8,  DType::i16, DType::i32, DType::i64,
                                       DType::u8,    DType::u16, DType::u32, DType::u64, DType::f16,
                                       DType::bf16,  DType::f32, DType::f64, DType::c64, DType::c128};
static_assert(names.size() == dtypes.size());

// np.dtype objects by dtype, and dtypes by what users have named them with. Python's, so they are never freed.
std::array<PyObject*, dtypes.size()> objects{};
PyObject* known = nullptr;  // dict: object -> number in `dtypes`

std::size_t number_of(DType dtype) {
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    if (dtypes[i] == dtype) return i;
  return 0;
}

std::optional<DType> by_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return dtypes[i];
  return std::nullopt;
}

DType find(nb::handle object) {
  const nb::object numpy = nb::module_::import_("numpy");
  nb::object dtype;
  if (nb::isinstance<nb::str>(object) && str_of(object) == "bfloat16") return DType::bf16;
  try {
    dtype = numpy.attr("dtype")(object);
  } catch (nb::python_error&) {
    throw DTypeError("dtype: " + repr_of(object) + " is no dtype.",
                     "Name one as NumPy does: np.float32, 'float32', float.");
  }
  const auto name = str_of(nb::object(dtype.attr("name")));
  if (const std::optional<DType> found = by_name(name)) return *found;
  throw DTypeError(
      "dtype: arrays of " + name + " are not there.",
      "There are bool, integers of 8 to 64 bits, float16, bfloat16, float32, float64 and complex numbers.");
}

}  // namespace

const char* numpy_name(DType dtype) { return names[number_of(dtype)]; }

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
  const std::size_t i = number_of(dtype);
  if (objects[i] == nullptr) {
    const nb::object scalar =
        dtype == DType::bf16 ? nb::module_::import_("ml_dtypes").attr("bfloat16") : nb::object(nb::str(names[i]));
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
    if (PyObject* at = PyDict_GetItemWithError(known, object.ptr())) return dtypes[PyLong_AsSize_t(at)];
  const DType dtype = find(object);
  if (hashable) {
    const nb::object number = nb::steal(PyLong_FromSize_t(number_of(dtype)));
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
      "promote_types",
      [](DType a, bool a_weak, DType b, bool b_weak) {
        const Promoted both = promote(a, a_weak, b, b_weak);
        return std::pair(both.dtype, both.weak);
      },
      "The dtype in which two meet, and whether it is weak.");
}

}  // namespace tenon::python
