// Whether all elements are true: in C++ an object, which also stands for the whole of an axis.
#include <nanobind/nanobind.h>

#include "axes.h"
#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/ops/reductions/reduce.h"

namespace tenon::python {

void add_reductions(nb::module_& module) {
  module.def(
      "all",
      [](ArrayLike x, nb::handle axis, bool keepdims) {
        const Array a = x.array("all");
        const Axes axes = axes_from(axis, keepdims);
        return call_op("all", [&] { return all(op(a), axes); });
      },
      nb::arg(), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false);
}

}  // namespace tenon::python
