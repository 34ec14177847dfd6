// Values between the points of a grid.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/api/interpolate.h"

namespace tenon::python {
namespace {

using interpolate::Between;

constexpr Named<Between> betweens[] = {{"linear", Between::linear}, {"nearest", Between::nearest}};

Arrays arrays_of(const char* name, const std::vector<nb::object>& objects) {
  Arrays arrays;
  for (const nb::object& each : objects) arrays.push_back(operand(name, each));
  return arrays;
}

}  // namespace

void add_fields(nb::module_& module) {
  module.def("interpolate_grid", [](const std::vector<nb::object>& points, ArrayLike values, ArrayLike at,
                                    const std::string& method, nb::handle fill) {
    const char* name = "RegularGridInterpolator";
    const interpolate::RegularGridInterpolator f{arrays_of(name, points), values.array(name),
                                                 by_name(name, "method", betweens, method),
                                                 operand_or_none(name, fill)};
    const Array x = at.array(name);
    return call_op(name, [&] { return f(op(x)); });
  });
}

}  // namespace tenon::python
