// The type tenon.Array: its slots. What is written in Python (methods like mean) is added in tenon/_methods.py.
#include "array.h"

#include <nanobind/stl/string.h>
#include <structmember.h>

#include "call.h"
#include "dtypes.h"
#include "errors.h"
#include "finite.h"
#include "indexing.h"
#include "interchange.h"
#include "numeric.h"
#include "operands.h"
#include "repeated.h"
#include "shapes.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/order.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::python {

PyTypeObject* array_type = nullptr;

PyObject* new_array(Array array) {
  if (watching() && array.buffer() != nullptr) [[unlikely]]
    require_finite(Value(*array.buffer()));
  auto* made = PyObject_New(ArrayObject, array_type);
  if (made == nullptr) throw nb::python_error();
  made->weak_references = nullptr;
  new (&made->array) Array(std::move(array));
  new (&made->traced_type) std::unique_ptr<const Type>();
  if (made->array.traced() != nullptr) made->traced_type = std::make_unique<const Type>(made->array.type());
  return reinterpret_cast<PyObject*>(made);
}

Type type_of_object(PyObject* object) {
  const auto* of = reinterpret_cast<ArrayObject*>(object);
  if (of->traced_type != nullptr) return *of->traced_type;
  const Donated* donated = of->array.donated();
  return donated == nullptr ? of->array.type() : type_of(Value(donated->type_of));
}

namespace {

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (reinterpret_cast<ArrayObject*>(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  array_of(self).~Array();
  reinterpret_cast<ArrayObject*>(self)->traced_type.~unique_ptr();
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* no_constructor(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "Array: arrays are made by tnp.array(), tnp.asarray() and by what computes them.");
  return nullptr;
}

// --- arithmetic ---

using Binary = Array(const Operand&, const Operand&);
using Unary = Array(const Operand&);

template <Binary* F>
PyObject* binary(const char* name, PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Array x, y;
    if (!operand_from(a, x) || !operand_from(b, y)) Py_RETURN_NOTIMPLEMENTED;
    return new_array(call_op(name, [&] { return F(Operand(x, Source()), Operand(y, Source())); }));
  });
}
template <Unary* F>
PyObject* unary(const char* name, PyObject* a) {
  return guarded([&] { return new_array(call_op(name, [&] { return F(Operand(array_of(a), Source())); })); });
}

// An operator of several ops: where it is repeated, it is compiled.
template <Binary* F>
PyObject* composed(const char* name, PyObject* a, PyObject* b) {
  const auto taken = [](PyObject* x) { return is_array(x) || PyLong_CheckExact(x) != 0 || PyFloat_CheckExact(x) != 0; };
  if (!taken(a) || !taken(b)) return binary<F>(name, a, b);
  return guarded([&] {
    static PyObject* const f = repeated(nb::module_::import_("tenon._core").attr(name)).release().ptr();
    PyObject* const args[] = {a, b};
    return PyObject_Vectorcall(f, args, 2, nullptr);
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<numeric::power>("power", a, b);
}

PyObject* divmod(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    const nb::object quotient = nb::steal(composed<tenon::floor_divide>("floor_divide", a, b));
    if (!quotient) throw nb::python_error();
    if (quotient.ptr() == Py_NotImplemented) Py_RETURN_NOTIMPLEMENTED;
    const nb::object rest = nb::steal(composed<tenon::remainder>("remainder", a, b));
    if (!rest) throw nb::python_error();
    return nb::make_tuple(quotient, rest).release().ptr();
  });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return binary<order::less>("less", a, b);
    case Py_LE:
      return binary<order::less_equal>("less_equal", a, b);
    case Py_EQ:
      return binary<(tenon::operator==)>("equal", a, b);
    case Py_NE:
      return binary<(tenon::operator!=)>("not_equal", a, b);
    case Py_GT:
      return binary<order::greater>("greater", a, b);
    default:
      return binary<order::greater_equal>("greater_equal", a, b);
  }
}

// --- values ---

Scalar one_element(PyObject* self) {
  const Array& a = array_of(self);
  return call_op("item", [&] { return a.item_scalar(Source()); });
}

PyObject* number_of(const Scalar& s) {
  if (s.dtype() == DType::bool_) return PyBool_FromLong(s.as<bool>());
  if (is_unsigned_integer(s.dtype())) return PyLong_FromUnsignedLongLong(s.convert(DType::u64).as<std::uint64_t>());
  if (is_integer(s.dtype())) return PyLong_FromLongLong(s.convert(DType::i64).as<std::int64_t>());
  if (is_real(s.dtype())) return PyFloat_FromDouble(s.as_double());
  return PyComplex_FromDoubles(s.as_complex().real(), s.as_complex().imag());
}

void require_one(PyObject* self, const char* what) {
  const Array& a = array_of(self);
  const Shape shape = a.shape();
  if (shape.known() && shape.elements().value() == 1) return;
  PyErr_Format(PyExc_ValueError, "%s of an array of shape %s: it has one element where that is asked for. %s", what,
               shape.text().c_str(), std::string_view(what) == "bool" ? "Use x.any() or x.all()." : "");
  throw nb::python_error();
}

// What becomes a number of Python's has no axes: the kind of error is JAX's.
void require_scalar(PyObject* self, const char* what) {
  const Array& a = array_of(self);
  if (a.rank() == 0) return;
  PyErr_Format(PyExc_TypeError,
               "%s of an array of shape %s: only an array without axes is a number. Use x.item() where "
               "it has one element.",
               what, a.shape().text().c_str());
  throw nb::python_error();
}

int truth(PyObject* self) {
  return guarded(
      [&] {
        require_one(self, "bool");
        const Scalar s = asked_as<TracerBoolConversionError>([&] { return one_element(self); });
        return s.convert(DType::bool_).as<bool>() ? 1 : 0;
      },
      -1);
}
PyObject* as_float(PyObject* self) {
  return guarded([&] {
    require_scalar(self, "float");
    if (is_complex(array_of(self).dtype())) throw DTypeError("float: the array is complex.", "Take x.real.");
    return PyFloat_FromDouble(one_element(self).as_double());
  });
}
PyObject* as_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    require_scalar(self, "int");
    const Scalar s = one_element(self);
    if (is_complex(s.dtype())) throw DTypeError("int: the array is complex.", "Take x.real.");
    if (is_real(s.dtype())) return PyLong_FromDouble(s.as_double());
    const nb::object number = nb::steal(number_of(s));
    return PyNumber_Long(number.ptr());
  });
}
PyObject* as_index(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Array& a = array_of(self);
    if (a.rank() != 0 || !is_integer(a.dtype()))
      throw DTypeError("index: " + a.type().text() + " is no single integer.", "");
    if (const Traced* t = a.traced(); t != nullptr && Scope::open(*t)) note_asked_integer(*t);
    return number_of(asked_as<TracerIntegerConversionError>([&] { return one_element(self); }));
  });
}
PyObject* as_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    require_scalar(self, "complex");
    const std::complex<double> value = one_element(self).as_complex();
    return PyComplex_FromDoubles(value.real(), value.imag());
  });
}

PyObject* item(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count == 0) {
      require_one(self, "item");
      return number_of(one_element(self));
    }
    const Array& a = array_of(self);
    nb::object at = nb::steal(PyTuple_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(at.ptr(), i, Py_NewRef(args[i]));
    const Array flat = count == 1 && a.rank() != 1 && !PyTuple_Check(args[0])
                           ? call_op("item", [&] { return reshape(Operand(a, Source()), Shape{-1}); })
                           : a;
    const nb::object picked = nb::steal(subscript(flat, count == 1 && PyTuple_Check(args[0]) ? args[0] : at.ptr()));
    require_one(picked.ptr(), "item");
    return number_of(one_element(picked.ptr()));
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded(
      [&]() -> Py_ssize_t {
        const Array& a = array_of(self);
        if (type_of_object(self).rank() == 0) {
          PyErr_SetString(PyExc_TypeError, "len() of unsized object");
          throw nb::python_error();
        }
        return a.size(0, Source());
      },
      Py_ssize_t(-1));
}

// --- attributes ---

DType dtype_of_object(PyObject* self) {
  const Array& a = array_of(self);
  return a.concrete() ? a.dtype() : type_of_object(self).dtype;
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Array& a = array_of(self);
    if (const Buffer* b = a.buffer()) {
      nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(b->rank())));
      for (std::size_t i = 0; i < b->rank(); ++i)
        PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(b->dims()[i]));
      return shape.release().ptr();
    }
    return shape_object(type_of_object(self).shape).release().ptr();
  });
}
PyObject* get_dtype(PyObject* self, void*) {
  return guarded([&] { return numpy_dtype(dtype_of_object(self)).release().ptr(); });
}
PyObject* get_ndim(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromSize_t(type_of_object(self).rank()); });
}
PyObject* get_size(PyObject* self, void*) {
  return guarded([&] { return dim_object(type_of_object(self).shape.elements()).release().ptr(); });
}
PyObject* get_itemsize(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromSize_t(size_of(dtype_of_object(self))); });
}
PyObject* get_nbytes(PyObject* self, void*) {
  return guarded([&] {
    const Type type = type_of_object(self);
    return dim_object(type.shape.elements() * Dim(static_cast<std::int64_t>(size_of(type.dtype)))).release().ptr();
  });
}
PyObject* get_weak(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(array_of(self).weak()); });
}
PyObject* get_transposed(PyObject* self, void*) {
  return unary<static_cast<Unary*>(tenon::transpose)>("transpose", self);
}
PyObject* get_real(PyObject* self, void*) { return unary<tenon::real>("real", self); }
PyObject* get_imag(PyObject* self, void*) { return unary<tenon::imag>("imag", self); }

PyObject* repr(PyObject* self) {
  return guarded([&] { return represented(self).release().ptr(); });
}

PyGetSetDef attributes[] = {
    {"shape", get_shape, nullptr, "The sizes of the axes, a tuple.", nullptr},
    {"dtype", get_dtype, nullptr, "The np.dtype of the elements.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of an element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"weak_type", get_weak, nullptr, "Whether it takes the precision of what it meets, as a Python number does.",
     nullptr},
    {"T", get_transposed, nullptr, "The array with its axes reversed.", nullptr},
    {"real", get_real, nullptr, "The real part.", nullptr},
    {"imag", get_imag, nullptr, "The imaginary part.", nullptr},
    {"at", get_at, nullptr, "x.at[i].set(y) and its kin: the array with other elements there.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"item", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(item)), METH_FASTCALL,
     "The only element, or the one at an index, as a Python number."},
    {"__complex__", as_complex, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

#define TENON_BINARY(slot, name, function) \
  {slot, reinterpret_cast<void*>(+[](PyObject* a, PyObject* b) { return binary<function>(name, a, b); })}
#define TENON_COMPOSED(slot, name, function) \
  {slot, reinterpret_cast<void*>(+[](PyObject* a, PyObject* b) { return composed<function>(name, a, b); })}
#define TENON_UNARY(slot, name, function) \
  {slot, reinterpret_cast<void*>(+[](PyObject* a) { return unary<function>(name, a); })}

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(no_constructor)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_getset, attributes},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc,
     const_cast<char*>("An array: immutable, of numbers, with known shape and dtype; or, while a function is "
                       "traced, what stands for one.")},
    TENON_BINARY(Py_nb_add, "add", numeric::add),
    TENON_BINARY(Py_nb_subtract, "subtract", tenon::operator-),
    TENON_BINARY(Py_nb_multiply, "multiply", numeric::multiply),
    TENON_BINARY(Py_nb_true_divide, "true_divide", numeric::true_divide),
    TENON_COMPOSED(Py_nb_floor_divide, "floor_divide", tenon::floor_divide),
    TENON_COMPOSED(Py_nb_remainder, "remainder", tenon::remainder),
    TENON_BINARY(Py_nb_matrix_multiply, "matmul", tenon::matmul),
    TENON_BINARY(Py_nb_and, "bitwise_and", tenon::operator&),
    TENON_BINARY(Py_nb_or, "bitwise_or", tenon::operator|),
    TENON_BINARY(Py_nb_xor, "bitwise_xor", tenon::operator^),
    TENON_BINARY(Py_nb_lshift, "left_shift", numeric::shift_left),
    TENON_BINARY(Py_nb_rshift, "right_shift", numeric::shift_right),
    {Py_nb_power, reinterpret_cast<void*>(power)},
    {Py_nb_divmod, reinterpret_cast<void*>(divmod)},
    TENON_UNARY(Py_nb_negative, "negative", tenon::operator-),
    TENON_UNARY(Py_nb_positive, "positive", numeric::positive),
    TENON_UNARY(Py_nb_absolute, "abs", numeric::absolute),
    TENON_UNARY(Py_nb_invert, "invert", tenon::operator!),
    {Py_nb_bool, reinterpret_cast<void*>(truth)},
    {Py_nb_float, reinterpret_cast<void*>(as_float)},
    {Py_nb_int, reinterpret_cast<void*>(as_int)},
    {Py_nb_index, reinterpret_cast<void*>(as_index)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_mp_subscript, reinterpret_cast<void*>(+[](PyObject* self, PyObject* key) {
       return guarded([&] { return subscript(array_of(self), key); });
     })},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(refuse_assignment)},
    {Py_tp_iter, reinterpret_cast<void*>(iterate)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

#undef TENON_BINARY
#undef TENON_COMPOSED
#undef TENON_UNARY

PyType_Spec spec{"tenon.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void add_array_type(nb::module_& module) {
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type) throw nb::python_error();
  array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  module.attr("Array") = type;
  // NumPy's own operators leave the work to ours: np.ones(3) + x is an Array.
  type.attr("__array_priority__") = 100;
  type.release();
}

}  // namespace tenon::python
