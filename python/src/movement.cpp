// Elements that move and never change, in Python's own ways: results that stay weakly typed, fills by dtype, modes of
// reads.
#include <nanobind/stl/string.h>

#include "call.h"
#include "dtypes.h"
#include "gathers.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::python {

void add_movement(nb::module_& module) {
  module.def("broadcast_to", [](ArrayLike x, ShapeLike shape) {
    const Array a = x.array("broadcast_to");
    return call_op("broadcast_to", [&] { return broadcast_to(op(a), shape.shape).with_weak(a.weak()); });
  });
  module.def("full", [](ShapeLike shape, ArrayLike value, DTypeArgument dtype) {
    const Array v = value.array("full");
    return call_op("full", [&] { return full(shape.shape, op(convert(op(v), dtype).with_weak(false))); });
  });
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
}

}  // namespace tenon::python
