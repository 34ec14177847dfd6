// Special functions: a line a function.
#include "tenon/api/special.h"

#include "compiled_call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"

namespace tenon::python {
namespace {

template <class>
using Given = ArrayLike;

nb::object result(const Array& made) { return nb::cast(made); }
nb::object result(const std::pair<Array, Array>& made) { return nb::make_tuple(made.first, made.second); }

// A function of arrays.
template <class Result, class... X>
void add(nb::module_& module, const char* name, Result (*f)(const X&...)) {
  static_assert((std::is_same_v<X, Operand> && ...));
  module.def(name, [f, name](Given<X>... x) {
    return result(called(name,
                         [f](const Arrays& in) {
                           return [&]<std::size_t... i>(std::index_sequence<i...>) {
                             return f(op(in[i])...);
                           }(std::index_sequence_for<X...>());
                         },
                         {x.array(name)...}));
  });
}

}  // namespace

void add_special(nb::module_& module) {
  add(module, "cbrt", tenon::cbrt);
  add(module, "exp2", tenon::exp2);
  add(module, "log2", tenon::log2);
  add(module, "log10", tenon::log10);
  add(module, "asinh", tenon::asinh);
  add(module, "acosh", tenon::acosh);
  add(module, "atanh", tenon::atanh);
  add(module, "hypot", tenon::hypot);
  add(module, "lgamma", special::lgamma);
  add(module, "loggamma", special::loggamma);
  add(module, "digamma", special::digamma);
  add(module, "polygamma", special::polygamma);
  add(module, "gammasgn", special::gammasgn);
  add(module, "gamma", special::gamma);
  add(module, "factorial", special::factorial);
  add(module, "poch", special::poch);
  add(module, "beta", special::beta);
  add(module, "betaln", special::betaln);
  add(module, "zeta", special::zeta);
  add(module, "gammainc", special::gammainc);
  add(module, "gammaincc", special::gammaincc);
  add(module, "gammainc_grad_a", special::gammainc_grad_a);
  add(module, "gamma_variate_grad", special::gamma_variate_grad);
  add(module, "betainc", special::betainc);
  add(module, "xlogy", special::xlogy);
  add(module, "xlog1py", special::xlog1py);
  add(module, "entr", special::entr);
  add(module, "rel_entr", special::rel_entr);
  add(module, "kl_div", special::kl_div);
  add(module, "logit", special::logit);
  add(module, "boxcox", special::boxcox);
  add(module, "boxcox1p", special::boxcox1p);
  add(module, "i0", special::i0);
  add(module, "i1", special::i1);
  add(module, "i0e", special::i0e);
  add(module, "i1e", special::i1e);
  add(module, "erfcx", special::erfcx);
  add(module, "dawsn", special::dawsn);
  add(module, "wofz", special::wofz);
  add(module, "ndtr", special::ndtr);
  add(module, "log_ndtr", special::log_ndtr);
  add(module, "ndtri", special::ndtri);
  add(module, "owens_t", special::owens_t);
  add(module, "exp1", special::exp1);
  add(module, "expi", special::expi);
  add(module, "expn", special::expn);
  add(module, "sici", special::sici);
  add(module, "fresnel", special::fresnel);
  add(module, "spence", special::spence);
  add(module, "hyp1f1", special::hyp1f1);
  add(module, "hyp2f1", special::hyp2f1);
  module.def("multigammaln", [](ArrayLike a, std::int64_t d) {
    return called("multigammaln", [&](const Arrays& in) { return special::multigammaln(op(in[0]), d); },
                  {a.array("multigammaln")});
  });
  module.def("comb", [](ArrayLike n, ArrayLike k, bool repetition) {
    return called("comb", [&](const Arrays& in) { return special::comb(op(in[0]), op(in[1]), repetition); },
                  {n.array("comb"), k.array("comb")});
  });
  module.def("bessel_jn", [](ArrayLike z, std::int64_t v, std::int64_t n_iter) {
    return called("bessel_jn", [&](const Arrays& in) { return special::bessel_jn(op(in[0]), v, n_iter); },
                  {z.array("bessel_jn")});
  });
  module.def("sph_harm_y", [](ArrayLike n, ArrayLike m, ArrayLike theta, ArrayLike phi, std::int64_t n_max) {
    const char* name = "sph_harm_y";
    return called(
        name, [&](const Arrays& in) { return special::sph_harm_y(op(in[0]), op(in[1]), op(in[2]), op(in[3]), n_max); },
        {n.array(name), m.array(name), theta.array(name), phi.array(name)});
  });
  module.def("bernoulli",
             [](std::int64_t n) { return call_transformation("bernoulli", [&] { return special::bernoulli(n); }); });
}

}  // namespace tenon::python
