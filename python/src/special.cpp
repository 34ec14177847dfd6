// Special functions: a line a function.
#include "tenon/api/special.h"

#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"

namespace tenon::python {
namespace {

struct OfOne {
  const char* name;
  Array (*f)(const Operand& x);
};
constexpr OfOne of_one[] = {
    {"cbrt", tenon::cbrt},         {"lgamma", special::lgamma},
    {"digamma", special::digamma}, {"gammasgn", special::gammasgn},
    {"gamma", special::gamma},     {"factorial", special::factorial},
    {"entr", special::entr},       {"logit", special::logit},
    {"i0", special::i0},           {"i1", special::i1},
    {"i0e", special::i0e},         {"i1e", special::i1e},
};
struct OfTwo {
  const char* name;
  Array (*f)(const Operand& x, const Operand& y);
};
constexpr OfTwo of_two[] = {
    {"polygamma", special::polygamma},
    {"zeta", special::zeta},
    {"poch", special::poch},
    {"beta", special::beta},
    {"betaln", special::betaln},
    {"xlogy", special::xlogy},
    {"xlog1py", special::xlog1py},
    {"rel_entr", special::rel_entr},
    {"kl_div", special::kl_div},
    {"gammainc", special::gammainc},
    {"gammaincc", special::gammaincc},
    {"gammainc_grad_a", special::gammainc_grad_a},
    {"gamma_variate_grad", special::gamma_variate_grad},
};

}  // namespace

void add_special(nb::module_& module) {
  for (const OfOne& f : of_one)
    module.def(f.name, [&f](ArrayLike x) {
      const Array a = x.array(f.name);
      return call_transformation(f.name, [&] { return f.f(op(a)); });
    });
  for (const OfTwo& f : of_two)
    module.def(f.name, [&f](ArrayLike x, ArrayLike y) {
      const Array a = x.array(f.name), b = y.array(f.name);
      return call_transformation(f.name, [&] { return f.f(op(a), op(b)); });
    });
  module.def("multigammaln", [](ArrayLike a, std::int64_t d) {
    const Array x = a.array("multigammaln");
    return call_transformation("multigammaln", [&] { return special::multigammaln(op(x), d); });
  });
  module.def("betainc", [](ArrayLike a, ArrayLike b, ArrayLike x) {
    const Array p = a.array("betainc"), q = b.array("betainc"), u = x.array("betainc");
    return call_transformation("betainc", [&] { return special::betainc(op(p), op(q), op(u)); });
  });
}

}  // namespace tenon::python
