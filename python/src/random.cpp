// Random numbers that are functions of a key, bit for bit as JAX's threefry.
#include "tenon/api/random.h"

#include <nanobind/stl/optional.h>

#include <array>

#include "call.h"
#include "dtypes.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"

namespace tenon::python {
namespace {

// f(key, parameters…, shape, dtype) of as many parameters; the package has checked shapes and dtypes.
template <std::size_t... I, class F>
void add_draw(nb::module_& module, const char* name, std::index_sequence<I...>, F f) {
  module.def(name, [name, f](ArrayLike key, std::conditional_t<I == I, ArrayLike, void>... given, ShapeLike shape,
                             DTypeArgument dtype) {
    const Array k = key.array(name);
    const std::array<Array, sizeof...(I)> parameters{given.array(name)...};
    return call_op(name, [&] { return f(op(k), op(parameters[I])..., shape.shape, dtype); });
  });
}
template <std::size_t Parameters, class F>
void add_draw(nb::module_& module, const char* name, F f) {
  add_draw(module, name, std::make_index_sequence<Parameters>(), f);
}

void add_distributions(nb::module_& module) {
  add_draw<0>(module, "laplace", random::laplace);
  add_draw<0>(module, "cauchy", random::cauchy);
  add_draw<0>(module, "logistic", random::logistic);
  add_draw<0>(module, "maxwell", random::maxwell);
  add_draw<1>(module, "pareto", random::pareto);
  add_draw<1>(module, "rayleigh", random::rayleigh);
  add_draw<1>(module, "lognormal", random::lognormal);
  add_draw<1>(module, "wald", random::wald);
  add_draw<1>(module, "geometric", random::geometric);
  add_draw<3>(module, "triangular", random::triangular);
  add_draw<2>(module, "truncated_normal", random::truncated_normal);
  add_draw<1>(module, "gamma", random::gamma);
  add_draw<1>(module, "loggamma", random::loggamma);
  add_draw<2>(module, "beta", random::beta);
  add_draw<1>(module, "chisquare", random::chisquare);
  add_draw<2>(module, "f", random::f);
  add_draw<1>(module, "t", random::t);
  add_draw<1>(module, "poisson", random::poisson);
  add_draw<2>(module, "binomial", random::binomial);
  module.def("rademacher", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype, DTypeArgument drawn) {
    const Array k = key.array("random.rademacher");
    return call_op("random.rademacher", [&] { return random::rademacher(op(k), shape.shape, dtype, drawn); });
  });
}

}  // namespace

void add_random(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("random");
  module.def("key",
             [](std::int64_t seed) { return call_op("random.key", [&] { return random::key(seed, Source()); }); });
  module.def("split", [](ArrayLike key, SizeLike n) {
    const Array k = key.array("random.split");
    return call_op("random.split", [&] { return random::split(op(k), n.size); });
  });
  module.def("fold_in", [](ArrayLike key, ArrayLike data) {
    const Array k = key.array("random.fold_in"), d = data.array("random.fold_in");
    return call_op("random.fold_in", [&] { return random::fold_in(op(k), op(d)); });
  });
  module.def("bits", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.bits");
    return call_op("random.bits", [&] { return random::bits(op(k), shape.shape, dtype); });
  });
  module.def("uniform", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype, ArrayLike low, ArrayLike high) {
    const Array k = key.array("random.uniform"), l = low.array("random.uniform"), h = high.array("random.uniform");
    return call_op("random.uniform", [&] { return random::uniform(op(k), shape.shape, dtype, op(l), op(h)); });
  });
  module.def("normal", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.normal");
    return call_op("random.normal", [&] { return random::normal(op(k), shape.shape, dtype); });
  });
  module.def("randint", [](ArrayLike key, ShapeLike shape, ArrayLike low, ArrayLike high, DTypeArgument dtype) {
    const Array k = key.array("random.randint"), l = low.array("random.randint"), h = high.array("random.randint");
    return call_op("random.randint", [&] { return random::randint(op(k), shape.shape, op(l), op(h), dtype); });
  });
  module.def("exponential", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.exponential");
    return call_op("random.exponential", [&] { return random::exponential(op(k), shape.shape, dtype); });
  });
  module.def("gumbel", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.gumbel");
    return call_op("random.gumbel", [&] { return random::gumbel(op(k), shape.shape, dtype); });
  });
  add_distributions(module);
}

}  // namespace tenon::python
