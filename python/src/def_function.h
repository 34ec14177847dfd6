// Functions of arrays, and of numbers and choices beside them, bound as they are.
#pragma once

#include <tuple>

#include "call.h"
#include "op.h"
#include "operands.h"

namespace tenon::python {

// How a parameter is given by Python, kept while the function runs, and passed on.
template <class T>
struct Parameter {
  using Given = T;
  static T kept(std::string_view, T x) { return x; }
  static const T& passed(const T& x) { return x; }
};
template <>
struct Parameter<const Operand&> {
  using Given = ArrayLike;
  static Array kept(std::string_view called, const ArrayLike& x) { return x.array(called); }
  static Operand passed(const Array& x) { return op(x); }
};

// The function f under a name; errors call it `called`.
template <class Result, class... P>
void def_function(nb::module_& module, const char* name, const char* called, Result (*f)(P...)) {
  module.def(name, [called, f](typename Parameter<P>::Given... given) {
    const std::tuple kept{Parameter<P>::kept(called, given)...};
    const auto run = [&](const auto&... x) { return f(Parameter<P>::passed(x)...); };
    return call_op(called, [&] { return std::apply(run, kept); });
  });
}
template <class Result, class... P>
void def_function(nb::module_& module, const char* name, Result (*f)(P...)) {
  def_function(module, name, name, f);
}

}  // namespace tenon::python
