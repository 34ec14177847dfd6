// Rotations, as quaternions.
#include <nanobind/stl/string.h>

#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/api/spatial.h"

namespace tenon::python {
namespace {

using spatial::Rotation;

// A function of one array, as a function of Python's.
template <class F>
void add_of_array(nb::module_& module, const char* name, F f) {
  module.def(name, [name, f](ArrayLike x) {
    const Array a = x.array(name);
    return call_op(name, [&] { return f(a); });
  });
}
template <class F>
void add_of_angle(nb::module_& module, const char* name, F f) {
  module.def(name, [name, f](ArrayLike x, bool degrees) {
    const Array a = x.array(name);
    return call_op(name, [&] { return f(a, degrees); });
  });
}
template <class F>
void add_of_axes(nb::module_& module, const char* name, F f) {
  module.def(name, [name, f](const std::string& seq, ArrayLike x, bool degrees) {
    const Array a = x.array(name);
    return call_op(name, [&] { return f(seq, a, degrees); });
  });
}

}  // namespace

void add_rotations(nb::module_& module) {
  add_of_array(module, "rotation_from_quat", [](const Array& x) { return Rotation::from_quat(op(x)).quat; });
  add_of_array(module, "rotation_from_matrix", [](const Array& x) { return Rotation::from_matrix(op(x)).quat; });
  add_of_array(module, "rotation_from_mrp", [](const Array& x) { return Rotation::from_mrp(op(x)).quat; });
  add_of_angle(module, "rotation_from_rotvec",
               [](const Array& x, bool degrees) { return Rotation::from_rotvec(op(x), degrees).quat; });
  add_of_axes(module, "rotation_from_euler", [](const std::string& seq, const Array& x, bool degrees) {
    return Rotation::from_euler(seq, op(x), degrees).quat;
  });
  add_of_array(module, "rotation_as_matrix", [](const Array& x) { return Rotation{x}.as_matrix(); });
  add_of_array(module, "rotation_as_mrp", [](const Array& x) { return Rotation{x}.as_mrp(); });
  add_of_angle(module, "rotation_as_rotvec",
               [](const Array& x, bool degrees) { return Rotation{x}.as_rotvec(degrees); });
  add_of_axes(module, "rotation_as_euler",
              [](const std::string& seq, const Array& x, bool degrees) { return Rotation{x}.as_euler(seq, degrees); });
  module.def("rotation_as_quat", [](ArrayLike x, bool canonical, bool scalar_first) {
    const Array a = x.array("as_quat");
    return call_op("as_quat", [&] { return Rotation{a}.as_quat({canonical, scalar_first}); });
  });
  module.def("rotation_apply", [](ArrayLike x, ArrayLike vectors, bool inverse) {
    const Array a = x.array("apply"), v = vectors.array("apply");
    return call_op("apply", [&] { return Rotation{a}.apply(op(v), inverse); });
  });
  add_of_array(module, "rotation_inv", [](const Array& x) { return Rotation{x}.inv().quat; });
  add_of_array(module, "rotation_magnitude", [](const Array& x) { return Rotation{x}.magnitude(); });
  module.def("rotation_product", [](ArrayLike p, ArrayLike q) {
    const Array a = p.array("product"), b = q.array("product");
    return call_op("product", [&] { return (Rotation{a} * Rotation{b}).quat; });
  });
  module.def("rotation_mean", [](ArrayLike x, nb::handle weights) {
    const Array a = x.array("mean");
    const std::optional<Array> w = operand_or_none("mean", weights);
    return call_op("mean", [&] { return Rotation{a}.mean(w).quat; });
  });
  module.def("slerp_init", [](ArrayLike times, ArrayLike rotations) {
    const Array t = times.array("Slerp"), q = rotations.array("Slerp");
    const spatial::Slerp made = call_op("Slerp", [&] { return spatial::Slerp::init(op(t), {q}); });
    return nb::make_tuple(made.times, made.timedelta, made.rotations.quat, made.rotvecs);
  });
  module.def("slerp", [](ArrayLike times, ArrayLike steps, ArrayLike rotations, ArrayLike rotvecs, ArrayLike at) {
    const char* name = "Slerp";
    const spatial::Slerp f{times.array(name), steps.array(name), {rotations.array(name)}, rotvecs.array(name)};
    const Array x = at.array(name);
    return call_op(name, [&] { return f(op(x)).quat; });
  });
}

}  // namespace tenon::python
