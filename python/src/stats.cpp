// Distributions of probability: those of numbers by their names, and those of vectors.
#include "tenon/api/stats.h"

#include <nanobind/stl/string.h>

#include "compiled_call.h"
#include "op.h"
#include "operands.h"
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

}  // namespace

void add_stats(nb::module_& module) {
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
