// Shapes, elements that move and never change, arrays made out of nothing, and reads and writes at indices.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "def_function.h"
#include "dtypes.h"
#include "gathers.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/ops/activations.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/index.h"
#include "tenon/ops/shape.h"

namespace tenon::python {
namespace {

using Integers = std::vector<std::int64_t>;

Arrays arrays(const char* name, const std::vector<ArrayLike>& given) {
  Arrays all;
  for (const ArrayLike& each : given) all.push_back(each.array(name));
  return all;
}

std::vector<Dim> dims(nb::handle given) { return shape_from(given).dims(); }

void add_shapes_of(nb::module_& module) {
  module.def("broadcast_to", [](ArrayLike x, ShapeLike shape) {
    const Array a = x.array("broadcast_to");
    return call_op("broadcast_to", [&] { return broadcast_to(op(a), shape.shape).with_weak(a.weak()); });
  });
  module.def("broadcast_in_dim", [](ArrayLike x, ShapeLike shape, Integers axes) {
    const Array a = x.array("broadcast_in_dim");
    return call_op("broadcast_in_dim", [&] { return broadcast_in_dim(op(a), shape.shape, axes); });
  });
  module.def("reshape", [](ArrayLike x, ShapeLike shape) {
    const Array a = x.array("reshape");
    return call_op("reshape", [&] { return reshape(op(a), shape.shape); });
  });
  module.def("transpose", [](ArrayLike x, Integers axes) {
    const Array a = x.array("transpose");
    return call_op("transpose", [&] { return transpose(op(a), axes); });
  });
  def_function(module, "move_axis", "moveaxis", tenon::move_axis);
  def_function(module, "expand_dims", tenon::expand_dims);
  def_function(module, "squeeze", tenon::squeeze);
  module.def("slice", [](ArrayLike x, nb::handle start, nb::handle limit, Integers stride) {
    const Array a = x.array("slice");
    std::vector<Dim> from = dims(start), to = dims(limit);
    return call_op("slice", [&] { return slice(op(a), from, to, stride); });
  });
  module.def("rev", [](ArrayLike x, Integers axes) {
    const Array a = x.array("rev");
    return call_op("rev", [&] { return reverse(op(a), axes); });
  });
  module.def("concatenate", [](const std::vector<ArrayLike>& parts, std::int64_t axis) {
    const Arrays all = arrays("concatenate", parts);
    return call_op("concatenate", [&] { return concatenate(all, axis, Source()); });
  });
  module.def("stack", [](const std::vector<ArrayLike>& parts, std::int64_t axis) {
    const Arrays all = arrays("stack", parts);
    return call_op("stack", [&] { return stack(all, axis, Source()); });
  });
  module.def("split", [](ArrayLike x, std::int64_t parts, std::int64_t axis) {
    const Array a = x.array("split");
    return call_op("split", [&] { return split(op(a), parts, axis); });
  });
  module.def("pad", [](ArrayLike x, ArrayLike value, Integers low, Integers high, Integers interior) {
    const Array a = x.array("pad"), v = value.array("pad");
    return call_op("pad", [&] { return pad(op(a), op(v), low, high, interior); });
  });
}

void add_makers(nb::module_& module) {
  module.def("iota", [](DTypeArgument dtype, ShapeLike shape, std::int64_t axis) {
    return call_op("iota", [&] { return iota(dtype, shape.shape, axis, Source()); });
  });
  module.def("full", [](ShapeLike shape, ArrayLike value, DTypeArgument dtype) {
    const Array v = value.array("full");
    return call_op("full", [&] { return full(shape.shape, op(convert(op(v), dtype).with_weak(false))); });
  });
  module.def("eye", [](nb::handle n, DTypeArgument dtype) {
    const Dim size = dim_from(n);
    return call_op("eye", [&] { return eye(size, dtype, Source()); });
  });
  module.def("one_hot", [](ArrayLike x, SizeLike classes, DTypeArgument dtype, std::int64_t axis) {
    const Array a = x.array("one_hot");
    return call_op("one_hot", [&] { return one_hot(op(a), classes.size, dtype, axis); });
  });
}

void add_indexed(nb::module_& module) {
  module.def("take", [](ArrayLike x, ArrayLike indices, std::int64_t axis, const std::string& mode, nb::handle fill,
                        bool sorted, bool unique) {
    const Array a = x.array("take"), i = indices.array("take");
    const GatherOptions options = gather_options(mode, fill, a, sorted, unique);
    return call_op("take", [&] { return take(op(a), op(i), axis, options); });
  });
  module.def("take_along_axis",
             [](ArrayLike x, ArrayLike indices, std::int64_t axis, const std::string& mode, nb::handle fill) {
               const Array a = x.array("take_along_axis"), i = indices.array("take_along_axis");
               const GatherOptions options = gather_options(mode, fill, a, false, false);
               return call_op("take_along_axis", [&] { return take_along_axis(op(a), op(i), axis, options); });
             });
  module.def("dynamic_slice", [](ArrayLike x, const std::vector<ArrayLike>& start, nb::handle sizes) {
    const Array a = x.array("dynamic_slice");
    const Arrays from = arrays("dynamic_slice", start);
    const std::vector<Dim> size = dims(sizes);
    return call_op("dynamic_slice", [&] { return dynamic_slice(op(a), from, size); });
  });
  module.def("dynamic_update_slice", [](ArrayLike x, ArrayLike update, const std::vector<ArrayLike>& start) {
    const Array a = x.array("dynamic_update_slice"), u = update.array("dynamic_update_slice");
    const Arrays from = arrays("dynamic_update_slice", start);
    return call_op("dynamic_update_slice", [&] { return dynamic_update_slice(op(a), op(u), from); });
  });
  module.def("compress", [](ArrayLike x, ArrayLike mask) {
    const Array a = x.array("compress"), m = mask.array("compress");
    return call_op("compress", [&] { return compress(op(a), op(m)); });
  });
  module.def("nonzero", [](ArrayLike x) {
    const Array a = x.array("nonzero");
    return call_op("nonzero", [&] { return nonzero(op(a)); });
  });
}

}  // namespace

void add_movement(nb::module_& module) {
  add_shapes_of(module);
  add_makers(module);
  add_indexed(module);
}

}  // namespace tenon::python
