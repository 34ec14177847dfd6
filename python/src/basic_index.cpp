#include "basic_index.h"

#include <cstring>

namespace tenon::python {
namespace {

constexpr std::size_t small = 4096;  // bytes of a part that is copied

// A part of memory, as a buffer describes its own.
struct Part {
  std::vector<std::int64_t> dims, strides;
  std::int64_t offset = 0;

  bool add(PyObject* key, std::int64_t n, std::int64_t stride) {
    if (PyLong_CheckExact(key)) {
      int overflow = 0;
      const long long given = PyLong_AsLongLongAndOverflow(key, &overflow);
      const long long at = given < 0 ? given + n : given;
      if (overflow != 0 || at < 0 || at >= n) return false;
      offset += at * stride;
      return true;
    }
    const auto* s = reinterpret_cast<PySliceObject*>(key);
    for (PyObject* bound : {s->start, s->stop, s->step})
      if (bound != Py_None && !PyLong_CheckExact(bound)) return false;
    Py_ssize_t start = 0, stop = 0, step = 1;
    if (PySlice_Unpack(key, &start, &stop, &step) != 0) throw nanobind::python_error();
    const Py_ssize_t length = PySlice_AdjustIndices(n, &start, &stop, step);
    offset += length == 0 ? 0 : start * stride;
    dims.push_back(length);
    strides.push_back(step * stride);
    return true;
  }
  void whole(std::int64_t n, std::int64_t stride) {
    dims.push_back(n);
    strides.push_back(stride);
  }
};

bool names_axis(PyObject* key) { return PyLong_CheckExact(key) || PySlice_Check(key); }

std::optional<Part> part_of(const Buffer& b, PyObject* key) {
  PyObject* const* keys = &key;
  Py_ssize_t count = 1;
  if (PyTuple_CheckExact(key)) {
    keys = reinterpret_cast<PyTupleObject*>(key)->ob_item;
    count = PyTuple_GET_SIZE(key);
  }
  std::size_t named = 0, ellipses = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (keys[i] == Py_Ellipsis)
      ++ellipses;
    else if (names_axis(keys[i]))
      ++named;
    else if (keys[i] != Py_None)
      return std::nullopt;
  }
  if (named > b.rank() || ellipses > 1) return std::nullopt;
  Part part;
  std::size_t axis = 0;
  const auto rest = [&](std::size_t axes) {
    for (; axes > 0; --axes, ++axis) part.whole(b.dims()[axis], b.strides()[axis]);
  };
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (keys[i] == Py_None)
      part.whole(1, 0);
    else if (keys[i] == Py_Ellipsis)
      rest(b.rank() - named);
    else if (!part.add(keys[i], b.dims()[axis], b.strides()[axis]))
      return std::nullopt;
    else
      ++axis;
  }
  rest(b.rank() - axis);
  return part;
}

// The same bytes in every element.
void fill(Buffer& target, const std::byte* value) {
  const std::size_t size = size_of(target.dtype());
  if (target.elements() == 0) return;
  std::vector<std::int64_t> at(target.rank(), 0);
  std::byte* place = target.data();
  while (true) {
    std::memcpy(place, value, size);
    std::size_t axis = target.rank();
    while (axis > 0) {
      --axis;
      place += target.strides()[axis];
      if (++at[axis] < target.dims()[axis]) break;
      place -= at[axis] * target.strides()[axis];
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (target.rank() == 0) return;
  }
}

}  // namespace

std::optional<Array> at_basic_index(const Array& x, PyObject* key) {
  const Buffer* b = x.buffer();
  if (b == nullptr) return std::nullopt;
  const std::optional<Part> part = part_of(*b, key);
  if (!part) return std::nullopt;
  Buffer view = b->view(b->dtype(), part->dims, part->strides, part->offset);
  if (view.bytes() <= small || !view.contiguous()) view = view.contiguous_copy();
  return Array(std::move(view), x.weak());
}

std::optional<Array> with_basic_index(const Array& x, PyObject* key, const Array& value) {
  const Buffer *b = x.buffer(), *other = value.buffer();
  if (b == nullptr || (other == nullptr && value.number() == nullptr)) return std::nullopt;
  const std::optional<Part> part = part_of(*b, key);
  if (!part) return std::nullopt;
  if (other != nullptr && (other->dtype() != b->dtype() || !std::ranges::equal(other->dims(), part->dims)))
    return std::nullopt;
  if (!b->contiguous()) return std::nullopt;
  Buffer made = b->contiguous_copy();
  {
    Buffer target = made.view(made.dtype(), part->dims, part->strides, part->offset);
    if (other != nullptr) {
      copy_into(target, *other);
    } else {
      const Scalar number = value.number()->convert(b->dtype());
      fill(target, number.data());
    }
  }
  return Array(std::move(made), x.weak());
}

}  // namespace tenon::python
