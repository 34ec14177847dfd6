// What lanes tell each other along a named axis of vmap.
#include "tenon/ops/structure/collectives.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "array.h"
#include "rooms.h"
#include "shapes.h"

namespace tenon::python {
namespace {

// (the number of the lane, how many there are), or None.
nb::object named_axis(const std::string& name) {
  const NamedAxis* axis = NamedAxis::find(name);
  if (axis == nullptr) return nb::none();
  return nb::make_tuple(array_object(axis->lane()), dim_object(axis->size()));
}

}  // namespace

void add_collectives(nb::module_& module) { module.def("named_axis", named_axis); }

}  // namespace tenon::python
