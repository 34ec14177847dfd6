// Special functions: a line a function.
#include "tenon/api/special.h"

#include "call.h"
#include "finite.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/api/jit.h"

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

// The function at these arguments. Beside tn.debug_nans it is noted as one Program, in which the eqn is found that made
// a NaN first: it runs compiled.
template <class F>
Array called(const char* name, const F& f, const Arrays& arguments) {
  return call_transformation(name, [&] {
    const Array made = f(arguments);
    if (watching() && !tracing()) {
      const auto of = [&f, name, line = SourceScope::current()](const Arrays& x) {
        const SourceScope place(line, name);
        return f(x);
      };
      std::vector<Value> inputs;
      for (const Array& x : arguments) inputs.push_back(x.value());
      note_program(trace(of)(arguments), {}, inputs, std::vector<Value>{made.value()});
    }
    return made;
  });
}

}  // namespace

void add_special(nb::module_& module) {
  for (const OfOne& f : of_one)
    module.def(f.name, [&f](ArrayLike x) {
      return called(f.name, [&](const Arrays& in) { return f.f(op(in[0])); }, {x.array(f.name)});
    });
  for (const OfTwo& f : of_two)
    module.def(f.name, [&f](ArrayLike x, ArrayLike y) {
      return called(f.name, [&](const Arrays& in) { return f.f(op(in[0]), op(in[1])); },
                    {x.array(f.name), y.array(f.name)});
    });
  module.def("multigammaln", [](ArrayLike a, std::int64_t d) {
    return called("multigammaln", [&](const Arrays& in) { return special::multigammaln(op(in[0]), d); },
                  {a.array("multigammaln")});
  });
  module.def("betainc", [](ArrayLike a, ArrayLike b, ArrayLike x) {
    return called("betainc", [](const Arrays& in) { return special::betainc(op(in[0]), op(in[1]), op(in[2])); },
                  {a.array("betainc"), b.array("betainc"), x.array("betainc")});
  });
}

}  // namespace tenon::python
