// First values of the parameters of neural networks.
#include <nanobind/stl/vector.h>

#include "choices_api_initializers.h"
#include "rooms.h"

namespace tenon::python {
namespace {

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
  static constexpr Asked of_mode{"variance_scaling", "mode"}, of_distribution{"variance_scaling", "distribution"};
  module.def("require_variance_scaling", [](nb::handle mode, nb::handle distribution) {
    taken<first::Fan>(of_mode, mode), taken<first::Spread>(of_distribution, distribution);
  });
  module.def("initial_variance_scaling", [draw](ArrayLike key, ShapeLike shape, DTypeArgument dtype, double scale,
                                                nb::handle mode, nb::handle distribution, const Numbers& in,
                                                const Numbers& out, const Numbers& batch) {
    const char* name = "variance_scaling";
    return draw(name, key.array(name), shape, dtype,
                first::variance_scaling(scale, taken<first::Fan>(of_mode, mode),
                                        taken<first::Spread>(of_distribution, distribution), {in, out, batch}));
  });
}

}  // namespace

void add_nn(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("nn");
  add_initializers(module);
}

}  // namespace tenon::python
