// Functions that the mathematics of the code generator computes, and short formulas over them; references by glibc.
#include <cmath>

#include "bench/accuracy/functions.h"

// glibc's functions of four numbers, which <math.h> declares under -ffast-math alone. Within 4 ulp of f64.
extern "C" {
#define VECTOR(name) accuracy::Lanes _ZGVdN4v_##name(accuracy::Lanes);
VECTOR(sin)
VECTOR(cos)
VECTOR(tan)
VECTOR(asin)
VECTOR(acos)
VECTOR(atan)
VECTOR(sinh)
VECTOR(cosh)
VECTOR(tanh)
VECTOR(asinh)
VECTOR(acosh)
VECTOR(atanh)
VECTOR(exp)
VECTOR(exp2)
VECTOR(expm1)
VECTOR(log)
VECTOR(log2)
VECTOR(log10)
VECTOR(log1p)
VECTOR(cbrt)
VECTOR(erf)
VECTOR(erfc)
#undef VECTOR
}

namespace accuracy {
namespace {

using Mpfr = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
template <Mpfr f>
Exact exact_of(const Exact* x) {
  Exact y;
  f(y.backend().data(), x->backend().data(), MPFR_RNDN);
  return y;
}
using Mpfr2 = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
template <Mpfr2 f>
Exact exact_of_two(const Exact* x) {
  Exact y;
  f(y.backend().data(), x[0].backend().data(), x[1].backend().data(), MPFR_RNDN);
  return y;
}
template <long double (*f)(long double)>
long double wide_of(const long double* x) {
  return f(*x);
}
template <long double (*f)(long double, long double)>
long double wide_of_two(const long double* x) {
  return f(x[0], x[1]);
}
template <double (*f)(double, double)>
double quick_of_two(const double* x) {
  return f(x[0], x[1]);
}

Lanes sqrt_lanes(Lanes x) {
  for (int i = 0; i < 4; ++i) x[i] = std::sqrt(x[i]);
  return x;
}

#define OF_ONE(name, bound, low, high)                                                                  \
  Function {                                                                                            \
    #name, bound, {{low, high}}, [](const Arrays& x) { return tn::name(x[0]); }, exact_of<mpfr_##name>, \
        _ZGVdN4v_##name, nullptr, wide_of<name##l>                                                      \
  }

}  // namespace

std::vector<Function> common_functions() {
  return {
      {"sqrt",
       0.5,
       {{0, 100}},
       [](const Arrays& x) { return tn::sqrt(x[0]); },
       exact_of<mpfr_sqrt>,
       sqrt_lanes,
       nullptr,
       wide_of<sqrtl>},
      {"rsqrt",
       2,
       {{0, 100}},
       [](const Arrays& x) { return tn::rsqrt(x[0]); },
       [](const Exact* x) { return Exact(*x == 0 ? 1 / *x : 1 / exact_of<mpfr_sqrt>(x)); },
       [](Lanes x) { return 1 / sqrt_lanes(x); },
       nullptr,
       [](const long double* x) { return 1 / sqrtl(*x); }},
      OF_ONE(cbrt, 2, -100, 100),
      OF_ONE(exp, 2, -104, 89),
      OF_ONE(exp2, 2, -150, 128),
      OF_ONE(expm1, 2, -20, 89),
      OF_ONE(log, 2, 0, 100),
      OF_ONE(log2, 2, 0, 100),
      OF_ONE(log10, 2, 0, 100),
      OF_ONE(log1p, 2, -1, 10),
      OF_ONE(sin, 2, -100, 100),
      OF_ONE(cos, 2, -100, 100),
      OF_ONE(tan, 2, -100, 100),
      OF_ONE(asin, 2, -1, 1),
      OF_ONE(acos, 2, -1, 1),
      OF_ONE(atan, 2, -30, 30),
      OF_ONE(sinh, 2, -90, 90),
      OF_ONE(cosh, 2, -90, 90),
      OF_ONE(tanh, 2, -22, 22),
      OF_ONE(asinh, 2, -30, 30),
      OF_ONE(acosh, 2, 1, 100),
      OF_ONE(atanh, 2, -1, 1),
      {"logistic",
       2,
       {{-90, 40}},
       [](const Arrays& x) { return tn::logistic(x[0]); },
       [](const Exact* x) { return Exact(1 / (1 + boost::multiprecision::exp(-*x))); },
       [](Lanes x) { return 1 / (1 + _ZGVdN4v_exp(-x)); },
       nullptr,
       [](const long double* x) { return 1 / (1 + expl(-*x)); }},
      OF_ONE(erf, 2, -6, 6),
      OF_ONE(erfc, 2, -6, 28),
      {"pow",
       2,
       {{0, 10}, {-30, 30}},
       [](const Arrays& x) { return tn::pow(x[0], x[1]); },
       exact_of_two<mpfr_pow>,
       nullptr,
       quick_of_two<pow>,
       wide_of_two<powl>},
      {"atan2",
       2,
       {{-10, 10}, {-10, 10}},
       [](const Arrays& x) { return tn::atan2(x[0], x[1]); },
       exact_of_two<mpfr_atan2>,
       nullptr,
       quick_of_two<atan2>,
       wide_of_two<atan2l>},
      {"hypot",
       2,
       {{-10, 10}, {-10, 10}},
       [](const Arrays& x) { return tn::hypot(x[0], x[1]); },
       exact_of_two<mpfr_hypot>,
       nullptr,
       quick_of_two<hypot>,
       wide_of_two<hypotl>},
  };
}

}  // namespace accuracy
