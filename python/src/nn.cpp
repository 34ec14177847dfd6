// First values of the parameters of neural networks.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "dtypes.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/initializers.h"

namespace tenon::python {
namespace {

constexpr Named<nn::initializers::Fan> fans[] = {{"fan_in", nn::initializers::Fan::in},
                                                 {"fan_out", nn::initializers::Fan::out},
                                                 {"fan_avg", nn::initializers::Fan::average},
                                                 {"fan_geo_avg", nn::initializers::Fan::geometric_average}};
constexpr Named<nn::initializers::Spread> spreads[] = {{"truncated_normal", nn::initializers::Spread::truncated_normal},
                                                       {"normal", nn::initializers::Spread::normal},
                                                       {"uniform", nn::initializers::Spread::uniform}};

void add_initializers(nb::module_& module) {
  namespace first = nn::initializers;
  const auto draw = [](const char* name, const Array& key, const ShapeLike& shape, DType dtype,
                       const first::Initializer& initializer) {
    return call_op(name, [&] { return initializer(op(key), shape.shape, dtype); });
  };
  module.def("initial_uniform", [draw](ArrayLike key, ArrayLike scale, ShapeLike shape, DTypeArgument dtype) {
    const char* name = "initializers.uniform";
    return draw(name, key.array(name), shape, dtype, first::uniform(scale.array(name)));
  });
  module.def("initial_normal", [draw](ArrayLike key, ArrayLike scale, ShapeLike shape, DTypeArgument dtype) {
    const char* name = "initializers.normal";
    return draw(name, key.array(name), shape, dtype, first::normal(scale.array(name)));
  });
  module.def("initial_truncated_normal", [draw](ArrayLike key, ArrayLike scale, ArrayLike lower, ArrayLike upper,
                                                ShapeLike shape, DTypeArgument dtype) {
    const char* name = "initializers.truncated_normal";
    return draw(name, key.array(name), shape, dtype,
                first::truncated_normal(scale.array(name), lower.array(name), upper.array(name)));
  });
  module.def("initial_orthogonal",
             [draw](ArrayLike key, ArrayLike scale, ShapeLike shape, DTypeArgument dtype, std::int64_t column_axis) {
               const char* name = "initializers.orthogonal";
               return draw(name, key.array(name), shape, dtype, first::orthogonal(scale.array(name), column_axis));
             });
  module.def("initial_delta_orthogonal", [draw](ArrayLike key, ArrayLike scale, ShapeLike shape, DTypeArgument dtype,
                                                std::int64_t column_axis) {
    const char* name = "initializers.delta_orthogonal";
    return draw(name, key.array(name), shape, dtype, first::delta_orthogonal(scale.array(name), column_axis));
  });
  using Numbers = std::vector<std::int64_t>;
  module.def("initial_variance_scaling", [draw](ArrayLike key, ShapeLike shape, DTypeArgument dtype, double scale,
                                                const std::string& mode, const std::string& distribution,
                                                const Numbers& in, const Numbers& out, const Numbers& batch) {
    const char* name = "variance_scaling";
    return draw(name, key.array(name), shape, dtype,
                first::variance_scaling(scale, by_name(name, "mode", fans, mode),
                                        by_name(name, "distribution", spreads, distribution), {in, out, batch}));
  });
}

}  // namespace

void add_nn(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("nn");
  add_initializers(module);
}

}  // namespace tenon::python
