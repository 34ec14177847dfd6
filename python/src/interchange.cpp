#include "interchange.h"

#include <nanobind/stl/string.h>

#include <memory>

#include "array.h"
#include "call.h"
#include "dtypes.h"
#include "errors.h"
#include "operands.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/runtime/dlpack.h"

namespace tenon::python {
namespace {

// What a view of Python's holds: the memory, and the numbers that Py_buffer points to.
struct Exported {
  Buffer buffer;
  std::vector<Py_ssize_t> dims, strides;
};

const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return "?";
    case DType::i8:
      return "b";
    case DType::i16:
      return "h";
    case DType::i32:
      return "i";
    case DType::i64:
      return "l";
    case DType::u8:
      return "B";
    case DType::u16:
      return "H";
    case DType::u32:
      return "I";
    case DType::u64:
      return "L";
    case DType::f16:
      return "e";
    case DType::f32:
      return "f";
    case DType::f64:
      return "d";
    case DType::c64:
      return "Zf";
    case DType::c128:
      return "Zd";
    default:
      return nullptr;  // of the dtypes of ml_dtypes
  }
}

Buffer values_of(const Array& a) {
  if (const Buffer* b = a.buffer()) return *b;
  const Source line = user_line();
  const SourceScope place(line, "numpy");
  return asked_as<TracerArrayConversionError>([&] { return a.to_buffer(line); });
}

bool row_major(const Buffer& b) { return b.contiguous(); }

// --- DLPack ---

constexpr const char *versioned_name = "dltensor_versioned", *unversioned_name = "dltensor";

void drop_versioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, versioned_name)) return;  // taken over
  auto* tensor = static_cast<dlpack::ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, versioned_name));
  tensor->deleter(tensor);
}
void drop_unversioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, unversioned_name)) return;
  auto* tensor = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, unversioned_name));
  tensor->deleter(tensor);
}

nb::object to_dlpack(nb::handle self, nb::handle stream, nb::handle max_version, nb::handle, nb::handle copy) {
  static_cast<void>(stream);
  Buffer b = values_of(array_of(self.ptr()));
  if (!copy.is_none() && nb::cast<bool>(copy)) b = b.contiguous_copy();
  const bool versioned = !max_version.is_none() && nb::cast<int>(nb::borrow<nb::tuple>(max_version)[0]) >= 1;
  PyObject* capsule = versioned ? PyCapsule_New(dlpack::export_versioned(b), versioned_name, drop_versioned)
                                : PyCapsule_New(dlpack::export_unversioned(b), unversioned_name, drop_unversioned);
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

Array from_dlpack(nb::handle object) {
  nb::object capsule;
  if (PyCapsule_CheckExact(object.ptr())) {
    capsule = nb::borrow(object);
  } else {
    try {
      capsule = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
    } catch (nb::python_error& e) {
      if (!e.matches(PyExc_TypeError)) throw;
      capsule = object.attr("__dlpack__")();
    }
  }
  Buffer b;
  if (PyCapsule_IsValid(capsule.ptr(), versioned_name)) {
    b = dlpack::import(
        static_cast<dlpack::ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), versioned_name)));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
  } else if (PyCapsule_IsValid(capsule.ptr(), unversioned_name)) {
    b = dlpack::import(static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), unversioned_name)));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  } else {
    throw RuntimeError("from_dlpack: what is given is no DLPack tensor, or one that was taken before.",
                       "Give an array of another library, which has __dlpack__.");
  }
  return Array(std::move(b));
}

nb::object bits_as_numpy(const Array& a) {
  const Buffer b = values_of(a);
  return nb::module_::import_("numpy")
      .attr("asarray")(array_object(Array(b.view(unsigned_of(b.dtype()), b.dims(), b.strides(), 0))))
      .attr("view")(numpy_dtype(b.dtype()));
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(
      [&] {
        const Array& a = array_of(self);
        const char* format = buffer_format(a.dtype());
        if (format == nullptr) {
          PyErr_Format(PyExc_BufferError, "%s has no format in the buffer protocol: use np.asarray(x).",
                       numpy_name(a.dtype()));
          return -1;
        }
        if ((flags & PyBUF_WRITABLE) != 0) {
          PyErr_SetString(PyExc_BufferError, "Arrays are immutable: their memory can be read only.");
          return -1;
        }
        auto held = std::make_unique<Exported>();
        held->buffer = values_of(a);
        if (((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS) &&
            !row_major(held->buffer))
          held->buffer = held->buffer.contiguous_copy();
        const Buffer& b = held->buffer;
        held->dims.assign(b.dims().begin(), b.dims().end());
        held->strides.assign(b.strides().begin(), b.strides().end());
        view->buf = const_cast<std::byte*>(b.data());
        view->obj = Py_NewRef(self);
        view->len = static_cast<Py_ssize_t>(b.bytes());
        view->readonly = 1;
        view->itemsize = static_cast<Py_ssize_t>(size_of(b.dtype()));
        view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
        view->ndim = static_cast<int>(b.rank());
        view->shape = (flags & PyBUF_ND) != 0 ? held->dims.data() : nullptr;
        view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? held->strides.data() : nullptr;
        view->suboffsets = nullptr;
        view->internal = held.release();
        return 0;
      },
      -1);
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

nb::object represented(nb::handle object) {
  const Array& a = array_of(object.ptr());
  if (a.empty()) return nb::str("Array(empty)");
  const std::string type = type_of_object(object.ptr()).text();
  if (a.donated() != nullptr) return nb::str(("Array(donated " + type + ")").c_str());
  if (a.traced() != nullptr) return nb::str(((Scope::open(*a.traced()) ? "Traced<" : "Leaked<") + type + ">").c_str());
  if (a.list() != nullptr) return nb::str(("Array<" + type + ">").c_str());
  return nb::module_::import_("tenon._methods").attr("represented")(object);
}

void add_interchange(nb::module_& module) {
  module.def(
      "from_memory",
      [](nb::handle object, bool copy) { return array_from_memory(object, copy ? Memory::copied : Memory::shared); },
      nb::arg("object"), nb::arg("copy"));
  module.def("extended_as_numpy", [](ArrayLike x) { return bits_as_numpy(x.array("numpy")); });
  module.def("is_traced", [](nb::handle x) { return is_array(x.ptr()) && array_of(x.ptr()).traced() != nullptr; });
  module.def("is_donated", [](nb::handle x) { return is_array(x.ptr()) && array_of(x.ptr()).donated() != nullptr; });
  module.def("to_dlpack", to_dlpack, nb::arg("x"), nb::arg("stream"), nb::arg("max_version"), nb::arg("dl_device"),
             nb::arg("copy"));
  module.def("from_dlpack", from_dlpack, nb::arg("x"));
}

}  // namespace tenon::python
