// Distributions of probability: those of numbers by their names, and those of vectors.
#include "tenon/api/stats.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "choices_api_samples.h"
#include "rooms.h"

namespace tenon::python {
namespace {

using OfThree = Array (*)(const Operand& x, const Operand& y, const Operand& z);

void add_of_three(nb::module_& module, const char* name, OfThree f) {
  module.def(name, [name, f](ArrayLike x, ArrayLike y, ArrayLike z) {
    return called(name, [f](const Arrays& in) { return f(op(in[0]), op(in[1]), op(in[2])); },
                  {x.array(name), y.array(name), z.array(name)});
  });
}

// A density as the tuple of its arrays, which the package names.
stats::GaussianKde kde_from(const nb::tuple& fields) {
  const char* name = "gaussian_kde";
  return {operand(name, fields[0]), operand(name, fields[1]), operand(name, fields[2]), operand(name, fields[3]),
          operand(name, fields[4])};
}

template <class F>
void add_density(nb::module_& module, const char* name, F f) {
  module.def(name, [name, f](const nb::tuple& fields, ArrayLike x) {
    const stats::GaussianKde kde = kde_from(fields);
    const Array a = x.array(name);
    return call_op(name, [&] { return f(kde, a); });
  });
}
template <class F>
void add_integral(nb::module_& module, const char* name, F f) {
  module.def(name, [name, f](const nb::tuple& fields, ArrayLike x, ArrayLike y) {
    const stats::GaussianKde kde = kde_from(fields);
    const Array a = x.array(name), b = y.array(name);
    return call_op(name, [&] { return f(kde, a, b); });
  });
}

void add_kde(nb::module_& module) {
  using stats::GaussianKde;
  module.def("kde_init", [](ArrayLike dataset, nb::handle bandwidth, nb::handle weights) {
    const char* name = "gaussian_kde";
    const Array points = dataset.array(name);
    stats::KdeOptions options;
    if (nb::isinstance<nb::str>(bandwidth))
      options.bandwidth = taken<stats::Bandwidth>({name, "bw_method"}, bandwidth);
    else
      options.bandwidth = operand(name, bandwidth);
    options.weights = operand_or_none(name, weights);
    const GaussianKde made = call_op(name, [&] { return GaussianKde::init(op(points), options); });
    return nb::make_tuple(made.neff, made.dataset, made.weights, made.covariance, made.inv_cov);
  });
  add_density(module, "kde_pdf", [](const GaussianKde& kde, const Array& x) { return kde.pdf(op(x)); });
  add_density(module, "kde_logpdf", [](const GaussianKde& kde, const Array& x) { return kde.logpdf(op(x)); });
  add_integral(module, "kde_integrate_gaussian", [](const GaussianKde& kde, const Array& mean, const Array& cov) {
    return kde.integrate_gaussian(op(mean), op(cov));
  });
  add_integral(module, "kde_integrate_box_1d", [](const GaussianKde& kde, const Array& low, const Array& high) {
    return kde.integrate_box_1d(op(low), op(high));
  });
  module.def("kde_integrate_kde", [](const nb::tuple& fields, const nb::tuple& other) {
    const GaussianKde a = kde_from(fields), b = kde_from(other);
    return call_op("integrate_kde", [&] { return a.integrate_kde(b); });
  });
  module.def("kde_resample", [](const nb::tuple& fields, ArrayLike key, ShapeLike shape, DTypeArgument index) {
    const GaussianKde kde = kde_from(fields);
    const Array k = key.array("resample");
    return call_op("resample", [&] { return kde.resample(op(k), shape.shape, index); });
  });
}

}  // namespace

void add_stats(nb::module_& module) {
  add_kde(module);
  module.def("distribution", [](const std::string& name, const std::string& quantity, nb::args arguments) {
    Arrays arrays;
    for (const nb::handle x : arguments) arrays.push_back(operand(name + "." + quantity, x));
    return called(
        "distribution",
        [&](const Arrays& in) {
          std::vector<Operand> operands;
          for (const Array& x : in) operands.push_back(op(x));
          return stats::distribution(name, quantity, operands);
        },
        arrays);
  });
  module.def("dirichlet_logpdf", [](ArrayLike x, ArrayLike alpha) {
    const char* name = "dirichlet_logpdf";
    return called(name, [](const Arrays& in) { return stats::dirichlet.logpdf(op(in[0]), op(in[1])); },
                  {x.array(name), alpha.array(name)});
  });
  add_of_three(module, "multinomial_logpmf",
               [](const Operand& x, const Operand& n, const Operand& p) { return stats::multinomial.logpmf(x, n, p); });
  add_of_three(module, "multivariate_normal_logpdf", [](const Operand& x, const Operand& mean, const Operand& cov) {
    return stats::multivariate_normal.logpdf(x, mean, cov);
  });
}

}  // namespace tenon::python
