#include "indexing.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "array.h"
#include "basic_index.h"
#include "call.h"
#include "errors.h"
#include "gathers.h"
#include "op.h"
#include "operands.h"
#include "shapes.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "text.h"

namespace tenon::python {
namespace {

using Parts = std::vector<IndexPart>;

std::optional<Dim> bound(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  return bound_from(object);
}

// An index array of a list or tuple of numbers; without elements it is of integers.
nb::object array_of_sequence(PyObject* object) {
  const nb::object numpy = nb::module_::import_("tenon.numpy");
  const bool empty = PySequence_Size(object) == 0;
  return numpy.attr("asarray")(nb::handle(object), empty ? nb::object(nb::str("int32")) : nb::none());
}

// What tenon.ds() makes: (start, size, step).
Window window_from(nb::handle object) {
  const nb::object parts = object.attr("__tenon_window__")();
  return {operand("ds", parts[0]), dim_from(nb::object(parts[1])), integer_from(nb::object(parts[2]).ptr())};
}

IndexPart part_of(PyObject* object) {
  if (object == Py_None) return {newaxis, Source()};
  if (object == Py_Ellipsis) return {ellipsis, Source()};
  if (PySlice_Check(object)) {
    const auto* s = reinterpret_cast<PySliceObject*>(object);
    if (s->start == Py_None && s->stop == Py_None && s->step == Py_None) return {all, Source()};
    const std::int64_t step = s->step == Py_None ? 1 : integer_from(s->step);
    return {slice(bound(s->start), bound(s->stop), step), Source()};
  }
  if (PyBool_Check(object)) return {Array(Scalar(object == Py_True)), Source()};
  if (PyLong_Check(object)) return {integer_from(object), Source()};
  if (is_dim(object)) return {nb::cast<Dim>(nb::handle(object)), Source()};
  if (!is_array(object) && nb::hasattr(object, "__tenon_window__")) return {window_from(object), Source()};
  const nb::object sequence = PyList_Check(object) || PyTuple_Check(object) ? array_of_sequence(object) : nb::object();
  if (sequence) object = sequence.ptr();
  Array array;
  if (!operand_from(object, array)) {
    PyErr_Format(PyExc_TypeError,
                 "An index is an integer, a slice, an ellipsis, None, or an array of integers or bools, not %R.",
                 object);
    throw nb::python_error();
  }
  if (!is_integer(array.dtype()) && array.dtype() != DType::bool_) {
    PyErr_Format(PyExc_TypeError, "An index must be of integers or bools, not of %s.",
                 std::string(name(array.dtype())).c_str());
    throw nb::python_error();
  }
  // Small integers may not hold what is counted from the end.
  if (is_integer(array.dtype()) && size_of(array.dtype()) < 4) array = convert(op(array), DType::i32);
  return {array, Source()};
}

// A number outside of its axis is the nearest element when it is read, and left out when it is written, as in JAX: then
// it is an index array.
void settle_numbers(Parts& parts, const Shape& shape) {
  std::size_t named = 0;
  for (const IndexPart& part : parts)
    if (const auto* array = std::get_if<Array>(&part.form()))
      named += array->dtype() == DType::bool_ ? array->rank() : 1;
    else
      named += std::holds_alternative<NewAxis>(part.form()) || std::holds_alternative<Ellipsis>(part.form()) ? 0 : 1;
  std::size_t axis = 0;
  for (IndexPart& part : parts) {
    if (std::holds_alternative<NewAxis>(part.form())) continue;
    if (std::holds_alternative<Ellipsis>(part.form())) {
      axis += shape.rank() > named ? shape.rank() - named : 0;
      continue;
    }
    const auto* number = std::get_if<Dim>(&part.form());
    if (number != nullptr && axis < shape.rank()) {
      // What may lie outside, where a size is not known.
      const Dim &n = shape[axis], at = *number;
      const bool known = n.known() && at.known();
      const Dim from = at.known() && at.value() < 0 ? Dim(-1) - at : at;
      const bool outside = known ? n != Dim(0) && !(decided_less(from, n) == true)
                                 : decided_less(from, n) != true || decided_less(Dim(-1), from) != true;
      if (outside) part = IndexPart(at.known() ? Array(Scalar(at.value())) : dim_array(at), Source());
    }
    const auto* array = std::get_if<Array>(&part.form());
    axis += array != nullptr && array->dtype() == DType::bool_ ? array->rank() : 1;
  }
}

}  // namespace

Parts parts_of(const Array& x, PyObject* key) {
  Parts parts;
  if (PyTuple_Check(key)) {
    parts.reserve(static_cast<std::size_t>(PyTuple_GET_SIZE(key)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) parts.push_back(part_of(PyTuple_GET_ITEM(key, i)));
  } else {
    if (PyList_Check(key)) {
      PyErr_SetString(PyExc_TypeError,
                      "A list as the whole index may mean rows or one element: write x[tnp.array([...])] for rows, a "
                      "tuple for an element.");
      throw nb::python_error();
    }
    parts.push_back(part_of(key));
  }
  settle_numbers(parts, x.shape());
  return parts;
}

namespace {

// --- x.at[i] ---

struct At {
  nb::object array;
};
struct AtIndex {
  nb::object array, key;
  const Array& x() const { return array_of(array.ptr()); }
};

std::optional<IndexMode> mode_from(nb::handle mode) {
  if (mode.is_none()) return std::nullopt;
  return index_mode_from(str_of(mode));
}

// Negative indices, which do not count from the end: before the first element with clip, else outside.
void unwrap_negative(Parts& parts, bool clips) {
  const auto outside = Scalar(clips ? 0 : std::numeric_limits<std::int32_t>::max());
  for (IndexPart& part : parts) {
    if (const auto* number = std::get_if<Dim>(&part.form());
        number != nullptr && number->known() && number->value() < 0)
      part = IndexPart(Array(outside), Source());
    const auto* array = std::get_if<Array>(&part.form());
    if (array == nullptr || !is_signed_integer(array->dtype())) continue;
    const Array wide = size_of(array->dtype()) < 4 ? convert(op(*array), DType::i32) : *array;
    part = IndexPart(where(op(op(wide) < 0), op(Array(outside.convert(wide.dtype()))), op(wide)), Source());
  }
}

// What the methods of x.at[i] take beside values.
struct AtOptions {
  bool sorted, unique;
  nb::handle mode;
  bool wrap;

  Parts parts(const AtIndex& at, IndexMode used) const {
    Parts made = parts_of(at.x(), at.key.ptr());
    if (!wrap) unwrap_negative(made, used == IndexMode::clip);
    return made;
  }
};

// The least or the largest of complex numbers: by their real parts, of equal ones by their imaginary parts.
Array complex_extreme_at(ScatterKind kind, const Array& x, const Parts& parts, const Array& y,
                         const ScatterOptions& options) {
  if (x.shape().elements() == Dim(0)) return x;
  const Array re = real(op(x)), im = imag(op(x)), next_re = real(op(y)), next_im = imag(op(y));
  const double infinity = std::numeric_limits<double>::infinity();
  const Array beyond = number(kind == ScatterKind::min ? infinity : -infinity, re);
  const Array found = update_at(kind, op(re), parts, op(next_re), options);
  const auto in_front = [&](const Array& part, const Array& at, const Array& best) {
    return where(op(op(op(part) == op(best)) | op(is_nan(op(part)))), op(at), op(beyond));
  };
  const Array there = in_front(next_re, next_im, index(op(found), parts));
  return complex(op(found), op(update_at(kind, op(in_front(re, im, found)), parts, op(there), options)));
}

// A Python integer that the default dtype does not hold, but the unsigned one of the array it is written to.
std::optional<Array> large_integer(PyObject* object, DType kept) {
  if (!PyLong_CheckExact(object) || !is_unsigned_integer(kept)) return std::nullopt;
  const unsigned long long value = PyLong_AsUnsignedLongLong(object);
  const bool fits = PyErr_Occurred() == nullptr;
  PyErr_Clear();
  if (!fits || Scalar(static_cast<std::uint64_t>(value)).convert(kept).convert(DType::u64).as<std::uint64_t>() != value)
    return std::nullopt;
  return Array(Scalar(static_cast<std::uint64_t>(value)).convert(kept));
}

Array put(const AtIndex& at, ScatterKind kind, const char* name, const Array& value, const AtOptions& given) {
  ScatterOptions options{.hints = {.sorted = given.sorted, .unique = given.unique}};
  if (const std::optional<IndexMode> mode = mode_from(given.mode)) options.mode = *mode;
  if (kind == ScatterKind::set && Scope::top() == nullptr && given.mode.is_none() && given.wrap)
    if (std::optional<Array> made = with_basic_index(at.x(), at.key.ptr(), value)) return *made;
  const Parts parts = given.parts(at, options.mode);
  return call_op(name, [&] {
    // The array keeps its dtype, whatever is written; what is combined with it meets it first: as in JAX.
    const DType kept = at.x().dtype(), met = promote(kept, at.x().weak(), value.dtype(), value.weak()).dtype;
    const DType used = kind == ScatterKind::set ? kept : met;
    const bool number = value.number() != nullptr && value.weak() && met == kept && is_inexact(kept);
    const Array fits = value.dtype() == used || number ? value : convert(op(value), used);
    const Array there = convert(op(at.x()), used);
    const bool in_order = kind == ScatterKind::min || kind == ScatterKind::max;
    const Array made = in_order && is_complex(used)
                           ? complex_extreme_at(kind, there, parts, convert(op(value), used), options)
                           : update_at(kind, op(there), parts, op(fits), options);
    return convert(op(made), kept).with_weak(at.x().weak());
  });
}

template <ScatterKind Kind>
auto updating(const char* name) {
  return [name](const AtIndex& at, ArrayLike value, bool sorted, bool unique, nb::handle mode, bool wrap) {
    const std::optional<Array> large = large_integer(value.object.ptr(), at.x().dtype());
    return put(at, Kind, name, large ? *large : value.array(name), {sorted, unique, mode, wrap});
  };
}

Array get(const AtIndex& at, bool sorted, bool unique, nb::handle mode, nb::handle fill, bool wrap) {
  GatherOptions options{.hints = {.sorted = sorted, .unique = unique}};
  if (const std::optional<IndexMode> given = mode_from(mode)) options.mode = *given;
  if (!fill.is_none()) {
    const Array value = operand("at.get", fill);
    options.fill = call_op("at.get", [&] { return value.item_scalar(Source()).convert(at.x().dtype()); });
  }
  const Parts parts = AtOptions{sorted, unique, mode, wrap}.parts(at, options.mode);
  return call_op("at.get", [&] { return index(Operand(at.x(), Source()), parts, options); });
}

void add_updates(nb::class_<AtIndex>& type) {
  const auto add = [&](const char* name, auto function, const char* text) {
    type.def(name, function, nb::arg("values"), nb::kw_only(), nb::arg("indices_are_sorted") = false,
             nb::arg("unique_indices") = false, nb::arg("mode") = nb::none(), nb::arg("wrap_negative_indices") = true,
             text);
  };
  add("set", updating<ScatterKind::set>("at.set"), "The array with `values` there.");
  add("add", updating<ScatterKind::add>("at.add"), "The array with `values` added there.");
  add("multiply", updating<ScatterKind::mul>("at.multiply"), "The array multiplied by `values` there.");
  add("mul", updating<ScatterKind::mul>("at.multiply"), "As multiply.");
  add("min", updating<ScatterKind::min>("at.min"), "The array with the smaller of both there.");
  add("max", updating<ScatterKind::max>("at.max"), "The array with the larger of both there.");
}

}  // namespace

PyObject* subscript(const Array& x, PyObject* key) {
  if (Scope::top() == nullptr)
    if (std::optional<Array> part = at_basic_index(x, key)) return new_array(std::move(*part));
  const Parts parts = parts_of(x, key);
  return new_array(call_op("getitem", [&] { return index(Operand(x, Source()), parts); }));
}

PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Array& x = array_of(self);
    if (x.rank() == 0) {
      PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
      throw nb::python_error();
    }
    nb::list rows;
    const std::int64_t n = x.size(0, Source());
    for (std::int64_t i = 0; i < n; ++i)
      rows.append(array_object(call_op("iter", [&] { return x(IndexPart(i, Source())); })));
    return PyObject_GetIter(rows.ptr());
  });
}

PyObject* get_at(PyObject* self, void*) {
  return guarded([&] { return nb::cast(At{nb::borrow(self)}).release().ptr(); });
}

int refuse_assignment(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "Arrays are immutable: instead of x[i] = y write x = x.at[i].set(y), which costs no copy inside of a "
                  "compiled function.");
  return -1;
}

void add_indexing(nb::module_& module) {
  nb::class_<At>(module, "At", "x.at: choose an index.").def("__getitem__", [](const At& at, nb::handle key) {
    return AtIndex{at.array, nb::borrow(key)};
  });
  nb::class_<AtIndex> type(module, "AtIndex", "x.at[i]: the array with other elements there.");
  type.def_ro("_array", &AtIndex::array).def_ro("_key", &AtIndex::key);
  add_updates(type);
  type.def("get", get, nb::kw_only(), nb::arg("indices_are_sorted") = false, nb::arg("unique_indices") = false,
           nb::arg("mode") = nb::none(), nb::arg("fill_value") = nb::none(), nb::arg("wrap_negative_indices") = true,
           "The elements there; mode='fill' gives `fill_value` (NaN where none is given) for those outside.");
}

}  // namespace tenon::python
