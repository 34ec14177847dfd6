// Sizes and shapes between Python and the library.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "none.h"
#include "tenon/base/function_ref.h"
#include "tenon/base/shape.h"
#include "tenon/ir/array.h"

namespace tenon::python {

namespace nb = nanobind;

nb::object dim_object(const Dim& dim);               // an int, or a tenon.Dim where the size is symbolic
nb::object shape_object(const Shape& shape);         // a tuple of them
Dim dim_from(nb::handle object);                     // throws nb::python_error: TypeError
std::optional<Dim> size_or_none(nb::handle object);  // nothing where Python says None
Dim bound_from(nb::handle object);  // the same of a bound, which may be negative and counts from the end then
bool is_dim(nb::handle object);
Array dim_array(const Dim& dim);               // as a number, weakly typed like an int
std::int64_t integer_from(nb::handle object);  // by __index__

// A function's argument: an int or a sequence of ints.
struct ShapeLike {
  Shape shape;
};
Shape shape_from(nb::handle object);
// An int, or a tenon.Dim.
struct SizeLike {
  Dim size;
};
// One axis or several, as ints; None is the empty optional.
std::vector<std::int64_t> integers_from(nb::handle object);

// A traced integer whose value was asked for as an index: of which trace it is an input, and the number of that.
struct AskedInteger {
  std::uint64_t scope;
  Var input;
};
// The latest of this thread, until it is taken.
std::optional<AskedInteger>& asked_integer();
void note_asked_integer(const Traced& traced);

// While it lives, on this thread, a function is traced that is traced again where an integer is asked for that
// `argument` knows the value of: that of an input of the trace, or nothing.
class KnownIntegers {
 public:
  using Argument = FunctionRef<const Array*(const AskedInteger&)>;
  explicit KnownIntegers(Argument argument);
  ~KnownIntegers();
  KnownIntegers(const KnownIntegers&) = delete;
  KnownIntegers& operator=(const KnownIntegers&) = delete;
  // Whether some trace around this place knows what a traced integer is computed of.
  static bool tell(const Traced& traced);

 private:
  Argument argument_;
  KnownIntegers* outer_;
};

void add_shapes(nb::module_& module);

}  // namespace tenon::python

namespace nanobind::detail {

template <>
struct type_caster<tenon::python::SizeLike> {
  NB_TYPE_CASTER(tenon::python::SizeLike, const_name("SizeLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    value.size = tenon::python::dim_from(source);
    return true;
  }
};

template <>
struct type_caster<tenon::python::ShapeLike> {
  NB_TYPE_CASTER(tenon::python::ShapeLike, const_name("ShapeLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    value.shape = tenon::python::shape_from(source);
    return true;
  }
};

}  // namespace nanobind::detail
