// Elements of arrays in memory at ints and slices, read and written without a program.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tenon/ir/array.h"

namespace tenon::python {

// Nothing where the array is not in memory, or the index is another one or lies outside: then ops do it. What is small
// is copied, so that it holds no large array; what is large shares the memory where it lies without gaps.
std::optional<Array> at_basic_index(const Array& x, PyObject* key);
// The array with a value there: a number, or an array of the part's shape and dtype.
std::optional<Array> with_basic_index(const Array& x, PyObject* key, const Array& value);

}  // namespace tenon::python
