// Random numbers that are functions of a key, bit for bit as JAX's threefry.
#include "tenon/api/random.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>

#include "call.h"
#include "dtypes.h"
#include "named.h"
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

constexpr Named<random::Generator> generators[] = {{"threefry2x32", random::Generator::threefry2x32},
                                                   {"rbg", random::Generator::philox4x32},
                                                   {"pcg", random::Generator::pcg64dxsm}};
constexpr Named<random::Resolution> resolutions[] = {{"low", random::Resolution::low},
                                                     {"high", random::Resolution::high}};
constexpr Named<random::Factor> factors[] = {
    {"cholesky", random::Factor::cholesky}, {"eigh", random::Factor::eigh}, {"svd", random::Factor::svd}};

void add_choices(nb::module_& module) {
  module.def("categorical", [](ArrayLike key, ArrayLike logits, std::int64_t axis, ShapeLike shape, bool replace,
                               const std::string& mode) {
    const char* name = "random.categorical";
    const Array k = key.array(name), weights = logits.array(name);
    const random::CategoricalOptions options{shape.shape, replace, by_name(name, "mode", resolutions, mode)};
    return call_op(name, [&] { return random::categorical(op(k), op(weights), axis, options); });
  });
  module.def("permutation_of_range", [](ArrayLike key, SizeLike n, DTypeArgument dtype) {
    const Array k = key.array("random.permutation");
    return call_op("random.permutation", [&] { return random::permutation(op(k), n.size, dtype); });
  });
  module.def("permutation", [](ArrayLike key, ArrayLike x, std::int64_t axis, bool independent) {
    const Array k = key.array("random.permutation"), a = x.array("random.permutation");
    return call_op("random.permutation", [&] { return random::permutation(op(k), a, {axis, independent}); });
  });
  const auto options_of = [](bool replace, nb::handle p, std::int64_t axis, DType index) {
    return random::ChoiceOptions{replace, operand_or_none("random.choice", p), axis, index};
  };
  module.def("choice_of_range",
             [options_of](ArrayLike key, nb::handle p, SizeLike n, ShapeLike shape, bool replace, DTypeArgument index) {
               const Array k = key.array("random.choice");
               const random::ChoiceOptions options = options_of(replace, p, 0, index);
               return call_op("random.choice", [&] { return random::choice(op(k), n.size, shape.shape, options); });
             });
  module.def("choice", [options_of](ArrayLike key, ArrayLike x, nb::handle p, ShapeLike shape, bool replace,
                                    std::int64_t axis, DTypeArgument index) {
    const Array k = key.array("random.choice"), a = x.array("random.choice");
    const random::ChoiceOptions options = options_of(replace, p, axis, index);
    return call_op("random.choice", [&] { return random::choice(op(k), a, shape.shape, options); });
  });
}

void add_random_vectors(nb::module_& module) {
  add_draw<1>(module, "dirichlet", random::dirichlet);
  add_draw<2>(module, "multinomial", random::multinomial);
  module.def("multivariate_normal", [](ArrayLike key, ArrayLike mean, ArrayLike covariance, ShapeLike shape,
                                       DTypeArgument dtype, const std::string& method) {
    const char* name = "random.multivariate_normal";
    const Array k = key.array(name), m = mean.array(name), c = covariance.array(name);
    const random::MultivariateNormalOptions options{shape.shape, dtype, by_name(name, "method", factors, method)};
    return call_op(name, [&] { return random::multivariate_normal(op(k), op(m), op(c), options); });
  });
  module.def("orthogonal", [](ArrayLike key, SizeLike n, SizeLike m, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.orthogonal");
    return call_op("random.orthogonal", [&] { return random::orthogonal(op(k), n.size, m.size, shape.shape, dtype); });
  });
  module.def("generalized_normal",
             [](ArrayLike key, ArrayLike p, ShapeLike shape, DTypeArgument dtype, DTypeArgument drawn) {
               const Array k = key.array("random.generalized_normal"), power = p.array("random.generalized_normal");
               return call_op("random.generalized_normal",
                              [&] { return random::generalized_normal(op(k), op(power), shape.shape, dtype, drawn); });
             });
  module.def("ball", [](ArrayLike key, ArrayLike p, SizeLike d, ShapeLike shape, DTypeArgument dtype,
                        DTypeArgument drawn) {
    const Array k = key.array("random.ball"), power = p.array("random.ball");
    return call_op("random.ball", [&] { return random::ball(op(k), d.size, op(power), shape.shape, dtype, drawn); });
  });
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
  module.def("key", [](std::int64_t seed, const std::string& generator) {
    const random::Generator by = by_name("random.key", "impl", generators, generator);
    return call_op("random.key", [&] { return random::key(seed, by, Source()); });
  });
  module.def("key_of_array", [](ArrayLike seed, const std::string& generator) {
    const Array s = seed.array("random.key");
    const random::Generator by = by_name("random.key", "impl", generators, generator);
    return call_op("random.key", [&] { return random::key(op(s), by); });
  });
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
  module.def("gumbel", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype, const std::string& mode) {
    const char* name = "random.gumbel";
    const Array k = key.array(name);
    const random::Resolution resolution = by_name(name, "mode", resolutions, mode);
    return call_op(name, [&] { return random::gumbel(op(k), shape.shape, dtype, resolution); });
  });
  module.def("bernoulli", [](ArrayLike key, ArrayLike p, ShapeLike shape, const std::string& mode) {
    const char* name = "random.bernoulli";
    const Array k = key.array(name), likely = p.array(name);
    const random::Resolution resolution = by_name(name, "mode", resolutions, mode);
    return call_op(name, [&] { return random::bernoulli(op(k), op(likely), shape.shape, resolution); });
  });
  add_distributions(module);
  add_random_vectors(module);
  add_choices(module);
}

}  // namespace tenon::python
