// Values between the points of a grid.
#include "choices_api_interpolate.h"
#include "rooms.h"

namespace tenon::python {

void add_fields(nb::module_& module) {
  module.def("interpolate_grid",
             [](nb::handle points, ArrayLike values, ArrayLike at, nb::handle method, nb::handle fill) {
               const char* name = "RegularGridInterpolator";
               const interpolate::RegularGridInterpolator f{taken<Arrays>({name, "points"}, points), values.array(name),
                                                            taken<interpolate::Between>({name, "method"}, method),
                                                            operand_or_none(name, fill)};
               const Array x = at.array(name);
               return call_op(name, [&] { return f(op(x)); });
             });
}

}  // namespace tenon::python
