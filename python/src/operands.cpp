#include "operands.h"

#include <nanobind/stl/string.h>

#include <complex>
#include <memory>
#include <string>

#include "dtypes.h"
#include "shapes.h"
#include "tenon/ops/elementwise/convert.h"
#include "text.h"

namespace tenon::python {
namespace {

// Py_buffer that is given back when the last array that shares its memory goes, on whatever thread.
struct HeldMemory {
  Py_buffer view{};
  ~HeldMemory() {
    if (!Py_IsInitialized()) return;
    const nb::gil_scoped_acquire gil;
    PyBuffer_Release(&view);
  }
};

// The dtype of a format of struct's: one element of native byte order.
std::optional<DType> dtype_of_format(const char* format, std::size_t size) {
  if (format == nullptr) return DType::u8;
  std::string_view f(format);
  if (!f.empty() && (f[0] == '@' || f[0] == '=' || (f[0] == '<' && std::endian::native == std::endian::little)))
    f.remove_prefix(1);
  if (f == "?") return DType::bool_;
  if (f == "e") return DType::f16;
  if (f == "f") return DType::f32;
  if (f == "d") return DType::f64;
  if (f == "Zf") return DType::c64;
  if (f == "Zd") return DType::c128;
  const auto integer = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    switch (size) {
      case 1:
        return one;
      case 2:
        return two;
      case 4:
        return four;
      case 8:
        return eight;
      default:
        return std::nullopt;
    }
  };
  if (f.size() == 1 && std::string_view("bhilqn").find(f[0]) != std::string_view::npos)
    return integer(DType::i8, DType::i16, DType::i32, DType::i64);
  if (f.size() == 1 && std::string_view("BHILQN").find(f[0]) != std::string_view::npos)
    return integer(DType::u8, DType::u16, DType::u32, DType::u64);
  return std::nullopt;
}

bool aligned(const Py_buffer& view) {
  const auto size = static_cast<std::size_t>(view.itemsize);
  const std::size_t unit = std::min<std::size_t>(size, 8);
  bool fits = reinterpret_cast<std::uintptr_t>(view.buf) % unit == 0;
  for (int i = 0; i < view.ndim; ++i) fits = fits && view.strides[i] % static_cast<Py_ssize_t>(unit) == 0;
  return fits;
}

nb::object numpy_array(nb::handle object) { return nb::module_::import_("numpy").attr("asarray")(object); }

// An array of a dtype of ml_dtypes', which has no format, by its bits; any other gives none.
std::optional<Array> from_bits(nb::handle object, Memory how) {
  if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "view")) return std::nullopt;
  const DType dtype = dtype_from(object.attr("dtype"));
  if (!is_extended(dtype)) return std::nullopt;
  const Array bits = array_from_memory(numpy_array(object).attr("view")(numpy_name(unsigned_of(dtype))), how);
  const Buffer b = bits.to_buffer();
  return Array(b.view(dtype, b.dims(), b.strides(), 0));
}

bool number_from(PyObject* object, Array& to) {
  if (PyFloat_CheckExact(object)) {
    const double value = PyFloat_AS_DOUBLE(object);
    to = x64_enabled ? Array(Scalar(value), true) : Array(Scalar(static_cast<float>(value)), true);
    return true;
  }
  if (PyBool_Check(object)) {
    to = Array(Scalar(object == Py_True));
    return true;
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0 || (!x64_enabled && value != static_cast<std::int32_t>(value))) {
      PyErr_Format(PyExc_OverflowError, "Python int too large to convert to int%d", x64_enabled ? 64 : 32);
      throw nb::python_error();
    }
    to = x64_enabled ? Array(Scalar(static_cast<std::int64_t>(value)), true)
                     : Array(Scalar(static_cast<std::int32_t>(value)), true);
    return true;
  }
  if (PyComplex_CheckExact(object)) {
    const std::complex<double> value(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
    to = x64_enabled ? Array(Scalar(value), true) : Array(Scalar(std::complex<float>(value)), true);
    return true;
  }
  return false;
}

// NumPy's masked arrays are memory beside a mask, which arrays here do not have.
void refuse_mask(nb::handle object) {
  static PyObject* const array = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  auto* const type = Py_TYPE(object.ptr());
  if (reinterpret_cast<PyObject*>(type) == array ||
      PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(array)) == 0 || !nb::hasattr(object, "_mask"))
    return;
  throw DTypeError("array: numpy masked arrays are not supported: their mask would be lost.",
                   "Give x.filled(value), or the data and the mask by themselves.");
}

// An array of memory; none of elements without bytes, NumPy's zeros of the dtype float0.
std::optional<Array> read_memory(nb::handle object, Memory how) {
  refuse_mask(object);
  auto held = std::make_shared<HeldMemory>();
  Py_buffer& view = held->view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    if (std::optional<Array> made = from_bits(object, how)) return made;
    throw DTypeError("array: the memory of " + class_of(object) + " has no form known.",
                     "Make a NumPy array of numbers of it.");
  }
  // NumPy's scalars of dates tell bytes, without strides.
  if (view.ndim > 0 && (view.shape == nullptr || view.strides == nullptr))
    return array_from_memory(numpy_array(object), Memory::copied);
  if (view.itemsize == 0) return std::nullopt;
  const std::optional<DType> dtype = dtype_of_format(view.format, static_cast<std::size_t>(view.itemsize));
  const std::string format = view.format == nullptr ? "B" : view.format;
  if (!dtype) {
    // Another byte order is put right by NumPy; the rest are no numbers.
    if (format.size() > 1 && (format[0] == '>' || format[0] == '<' || format[0] == '!')) {
      const nb::object there = numpy_array(object);
      return array_from_memory(there.attr("astype")(there.attr("dtype").attr("newbyteorder")("=")), Memory::shared);
    }
    throw DTypeError("array: elements of the format '" + format + "' are no numbers that arrays have.", all_dtypes);
  }
  if (!aligned(view)) return array_from_memory(numpy_array(object).attr("copy")(), Memory::shared);
  const auto rank = static_cast<std::size_t>(view.ndim);
  const std::span<const Py_ssize_t> dims(view.shape, rank), strides(view.strides, rank);
  const Buffer there = Buffer::borrow(view.buf, *dtype, std::vector<std::int64_t>(dims.begin(), dims.end()),
                                      std::vector<std::int64_t>(strides.begin(), strides.end()), held, false);
  const bool copy = how == Memory::copied || (how == Memory::copied_if_writable && view.readonly == 0);
  return Array(copy ? there.contiguous_copy() : there);
}

// Memory that has an array's form; text has a buffer too, but is none.
bool has_memory(PyObject* object) {
  return PyObject_CheckBuffer(object) && !PyBytes_Check(object) && !PyByteArray_Check(object);
}

bool from(PyObject* object, bool borrow, Array& to);

// What an object says itself to be by such a method: an array, or again such an object.
bool from_method(PyObject* object, const char* method, bool borrow, Array& to) {
  const nb::object made = nb::handle(object).attr(method)();
  if (Py_EnterRecursiveCall(" in what an object says to be an array") != 0) throw nb::python_error();
  struct Leave {
    ~Leave() { Py_LeaveRecursiveCall(); }
  } const leave;
  return from(made.ptr(), borrow, to);
}

bool from(PyObject* object, bool borrow, Array& to) {
  if (is_array(object)) {
    to = array_of(object);
    return true;
  }
  if (number_from(object, to)) return true;
  if (has_memory(object)) {
    std::optional<Array> made = read_memory(object, borrow ? Memory::shared : Memory::copied_if_writable);
    if (!made) return false;
    to = *std::move(made);
  } else if (is_dim(object)) {
    to = dim_array(nb::cast<Dim>(nb::handle(object)));
    return true;
  } else if (nb::hasattr(object, "__tenon_array__")) {
    return from_method(object, "__tenon_array__", borrow, to);
  } else if (nb::hasattr(object, "__jax_array__")) {
    return from_method(object, "__jax_array__", borrow, to);
  } else if (nb::hasattr(object, "__array__")) {
    to = array_from_memory(numpy_array(object), Memory::copied);
  } else {
    return false;
  }
  if (!x64_enabled && to.dtype() != canonical(to.dtype())) to = convert(Operand(to, Source()), canonical(to.dtype()));
  return true;
}

}  // namespace

Array array_from_memory(nb::handle object, Memory how) {
  if (std::optional<Array> made = read_memory(object, how)) return *std::move(made);
  throw DTypeError("array: zeros of the dtype float0 have no values.",
                   "They are the tangents of integers; functions take and return them as they are.");
}

bool operand_from(PyObject* object, Array& to) { return from(object, false, to); }
bool borrowed_operand_from(PyObject* object, Array& to) { return from(object, true, to); }

Array operand(std::string_view op, nb::handle object) {
  Array array;
  if (!operand_from(object.ptr(), array)) {
    const auto type = class_of(object);
    throw DTypeError(
        std::string(op) + ": " + repr_of(object).substr(0, 60) + " of type " + type + " is no array and no number.",
        type == "list" || type == "tuple" ? "Make an array of it with tnp.array()." : "");
  }
  return array;
}

}  // namespace tenon::python
