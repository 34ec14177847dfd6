// Functions of fields: images in other sizes, values between elements, points and codes.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "compiled_call.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/cluster.h"
#include "tenon/api/image.h"
#include "tenon/api/interpolate.h"
#include "tenon/api/ndimage.h"
#include "tenon/api/searchsorted.h"

namespace tenon::python {
namespace {

using image::ResizeMethod;
using interpolate::Between;
using ndimage::Beyond;

constexpr Named<ResizeMethod> resize_methods[] = {
    {"nearest", ResizeMethod::nearest},   {"linear", ResizeMethod::linear},
    {"lanczos3", ResizeMethod::lanczos3}, {"lanczos5", ResizeMethod::lanczos5},
    {"cubic", ResizeMethod::cubic},       {"cubic-pytorch", ResizeMethod::cubic_pytorch},
    {"area", ResizeMethod::area}};
constexpr Named<Beyond> beyonds[] = {{"constant", Beyond::constant},
                                     {"nearest", Beyond::nearest},
                                     {"wrap", Beyond::wrap},
                                     {"mirror", Beyond::mirror},
                                     {"reflect", Beyond::reflect}};
constexpr Named<Between> betweens[] = {{"linear", Between::linear}, {"nearest", Between::nearest}};

Arrays arrays_of(const char* name, const std::vector<nb::object>& objects) {
  Arrays arrays;
  for (const nb::object& each : objects) arrays.push_back(operand(name, each));
  return arrays;
}

void add_images(nb::module_& module) {
  module.def("resize_image", [](ArrayLike x, nb::handle shape, const std::string& method, bool antialias) {
    const char* name = "resize";
    const image::ResizeOptions options{by_name(name, "method", resize_methods, method), antialias};
    const Array a = x.array(name);
    const Shape to = shape_from(shape);
    return called(name, [&](const Arrays& in) { return image::resize(op(in[0]), to, options); }, {a});
  });
  module.def("scale_and_translate", [](ArrayLike x, nb::handle shape, std::vector<std::int64_t> axes, ArrayLike scale,
                                       ArrayLike translation, const std::string& method, bool antialias) {
    const char* name = "scale_and_translate";
    const image::ResizeOptions options{by_name(name, "method", resize_methods, method), antialias};
    const Array a = x.array(name), s = scale.array(name), t = translation.array(name);
    const Shape to = shape_from(shape);
    return call_op(name, [&] { return image::scale_and_translate(op(a), to, axes, op(s), op(t), options); });
  });
}

}  // namespace

void add_fields(nb::module_& module) {
  add_images(module);
  module.def("map_coordinates", [](ArrayLike x, const std::vector<nb::object>& coordinates, std::int64_t order,
                                   const std::string& mode, ArrayLike cval) {
    const char* name = "map_coordinates";
    const Array a = x.array(name);
    const Arrays at = arrays_of(name, coordinates);
    const ndimage::MapOptions options{order, by_name(name, "mode", beyonds, mode), cval.array(name)};
    Arrays all{a};
    all.insert(all.end(), at.begin(), at.end());
    return called(
        name, [&](const Arrays& in) { return ndimage::map_coordinates(op(in[0]), std::span(in).subspan(1), options); },
        all);
  });
  module.def("interpolate_grid", [](const std::vector<nb::object>& points, ArrayLike values, ArrayLike at,
                                    const std::string& method, nb::handle fill) {
    const char* name = "RegularGridInterpolator";
    const interpolate::RegularGridInterpolator f{arrays_of(name, points), values.array(name),
                                                 by_name(name, "method", betweens, method),
                                                 operand_or_none(name, fill)};
    const Array x = at.array(name);
    return call_op(name, [&] { return f(op(x)); });
  });
  module.def("interp",
             [](ArrayLike x, ArrayLike xp, ArrayLike fp, nb::handle left, nb::handle right, nb::handle period) {
               const char* name = "interp";
               interpolate::InterpOptions options{.period = operand_or_none(name, period)};
               const auto set = [&](nb::handle given, std::optional<Array>& value, bool& extrapolates) {
                 extrapolates = nb::isinstance<nb::str>(given);
                 if (!extrapolates) value = operand_or_none(name, given);
               };
               set(left, options.left, options.extrapolate_left), set(right, options.right, options.extrapolate_right);
               const Array a = x.array(name), b = xp.array(name), c = fp.array(name);
               return call_op(name, [&] { return interpolate::interp(op(a), op(b), op(c), options); });
             });
  module.def("searchsorted", [](ArrayLike ordered, ArrayLike values, bool right) {
    const char* name = "searchsorted";
    const Array a = ordered.array(name), v = values.array(name);
    return call_op(name, [&] { return searchsorted(op(a), op(v), right ? Side::right : Side::left); });
  });
  module.def("vq", [](ArrayLike observations, ArrayLike code_book) {
    const char* name = "vq";
    const Array a = observations.array(name), b = code_book.array(name);
    const cluster::Codes made = call_op(name, [&] { return cluster::vq(op(a), op(b)); });
    return nb::make_tuple(made.codes, made.distances);
  });
}

}  // namespace tenon::python
