// Functions of neural networks, and first values of their parameters.
#include "tenon/api/nn.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "axes.h"
#include "call.h"
#include "def_function.h"
#include "dtypes.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/initializers.h"

namespace tenon::python {
namespace {

using Masked = Array (*)(const Operand& x, const Axes& axes, const Operand& counted);
void add_masked(nb::module_& module, const char* name, Masked f) {
  module.def(name, [name, f](ArrayLike x, nb::handle axis, ArrayLike counted) {
    const Array a = x.array(name), mask = counted.array(name);
    const Axes axes = axes_from(axis, false);
    return call_op(name, [&] { return f(op(a), axes, op(mask)); });
  });
}

void add_along_axes(nb::module_& module) {
  add_masked(module, "softmax", nn::softmax);
  add_masked(module, "log_softmax", nn::log_softmax);
  def_function(module, "glu", nn::glu);
  module.def("logsumexp", [](ArrayLike x, nb::handle axis, bool keepdims, nb::handle weights, nb::handle counted) {
    const char* name = "logsumexp";
    const Array a = x.array(name);
    const Axes axes = axes_from(axis, keepdims);
    const nn::LogSumExpOptions options{operand_or_none(name, weights), operand_or_none(name, counted)};
    return call_op(name, [&] { return nn::logsumexp(op(a), axes, options); });
  });
  module.def("signed_logsumexp",
             [](ArrayLike x, nb::handle axis, bool keepdims, nb::handle weights, nb::handle counted) {
               const char* name = "logsumexp";
               const Array a = x.array(name);
               const Axes axes = axes_from(axis, keepdims);
               const nn::LogSumExpOptions options{operand_or_none(name, weights), operand_or_none(name, counted)};
               nn::SignedLog made = call_op(name, [&] { return nn::signed_logsumexp(op(a), axes, options); });
               return std::pair(std::move(made.logarithm), std::move(made.sign));
             });
  module.def("logmeanexp", [](ArrayLike x, nb::handle axis, bool keepdims, nb::handle counted) {
    const char* name = "logmeanexp";
    const Array a = x.array(name);
    const Axes axes = axes_from(axis, keepdims);
    const auto mask = operand_or_none(name, counted);
    return call_op(name, [&] { return nn::logmeanexp(op(a), axes, mask); });
  });
  module.def("standardize", [](ArrayLike x, nb::handle axis, nb::handle mean, nb::handle variance, ArrayLike epsilon,
                               nb::handle counted) {
    const char* name = "standardize";
    const Array a = x.array(name);
    const Axes axes = axes_from(axis, false);
    const nn::StandardizeOptions options{operand_or_none(name, mean), operand_or_none(name, variance),
                                         operand_or_none(name, counted), epsilon.array(name)};
    return call_op(name, [&] { return nn::standardize(op(a), axes, options); });
  });
}

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
  def_function(module, "relu6", nn::relu6);
  def_function(module, "hard_sigmoid", nn::hard_sigmoid);
  def_function(module, "hard_silu", nn::hard_silu);
  def_function(module, "hard_tanh", nn::hard_tanh);
  def_function(module, "selu", nn::selu);
  def_function(module, "soft_sign", nn::soft_sign);
  def_function(module, "mish", nn::mish);
  def_function(module, "sparse_plus", nn::sparse_plus);
  def_function(module, "sparse_sigmoid", nn::sparse_sigmoid);
  def_function(module, "log1mexp", nn::log1mexp);
  def_function(module, "celu", nn::celu);
  def_function(module, "squareplus", nn::squareplus);
  add_along_axes(module);
  add_initializers(module);
}

}  // namespace tenon::python
