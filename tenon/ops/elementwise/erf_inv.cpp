// The inverse of the error function, by M. Giles' polynomials ("Approximating the erfinv function", GPU Computing Gems,
// 2010) in w = -log(1 - x²), which is what other libraries of this field compute too.
#include <array>
#include <numbers>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"

namespace tenon {
namespace {

using kernel::Binary;
using kernel::Expr;
using kernel::Unary;

// Coefficients from the highest power of the argument down: near the middle, towards the ends, at the very ends.
constexpr std::array middle_f32{2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
constexpr std::array end_f32{-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                             -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
constexpr std::array middle_f64{
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,  1.115787767802518096e-17,
    -1.333171662854620906e-16,  2.0972767875968561637e-17,  6.6376381343583238325e-15,  -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,   -0.00074070253416626697512,
    -0.0060336708714301490533,  0.24015818242558961693,     1.6536545626831027356};
constexpr std::array end_f64{
    2.2137376921775787049e-09,  9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
    1.5027403968909827627e-06,  -4.013867526981545969e-06, 2.9234449089955446044e-06,  1.2475304481671778723e-05,
    -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05,  -0.0003550375203628474796,
    0.00095328937973738049703,  -0.0016882755560235047313, 0.0024914420961078508066,   -0.0037512085075692412107,
    0.005370914553590063617,    1.0052589676941592334,     3.0838856104922207635};
constexpr std::array last_f64{-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
                              -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
                              2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
                              -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
                              7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
                              1.0103004648645343977,      4.8499064014085844221};

template <class T, std::size_t N>
T polynomial(const std::array<double, N>& coefficients, T w) {
  T value = T(0);
  for (double c : coefficients) value = static_cast<T>(c) + value * w;
  return value;
}
template <std::size_t N>
Expr polynomial(const std::array<double, N>& coefficients, const Expr& w) {
  Expr value = kernel::constant_like(w, coefficients[0]);
  for (std::size_t i = 1; i < N; ++i) value = kernel::constant_like(w, coefficients[i]) + value * w;
  return value;
}

template <class T>
T inverse(T x) {
  if (std::abs(x) == 1) return x * std::numeric_limits<T>::infinity();
  // In f32 as the draws of other libraries have it, for the same bits; 1 - x² by factors is exact near the ends.
  if constexpr (std::is_same_v<T, float>) {
    const T w = -std::log1p(-x * x);
    return x * (w < 5 ? polynomial(middle_f32, w - T(2.5)) : polynomial(end_f32, std::sqrt(w) - T(3)));
  } else {
    const T w = -std::log((1 - x) * (1 + x));
    return x * (w < 6.25 ? polynomial(middle_f64, w - T(3.125))
                : w < 16 ? polynomial(end_f64, std::sqrt(w) - T(3.25))
                         : polynomial(last_f64, std::sqrt(w) - T(5)));
  }
}

// The same for the compiler; all polynomials are computed and one is taken. f16 and bf16 go through f32.
Expr inverse(const Expr& given) {
  const Expr x = is_narrow(given.dtype()) ? kernel::convert(DType::f32, given) : given;
  const auto number = [&](double value) { return kernel::constant_like(x, value); };
  const auto below = [&](const Expr& w, double limit) { return kernel::binary(Binary::lt, w, number(limit)); };
  const Expr w = x.dtype() == DType::f32 ? -kernel::unary(Unary::log1p, -x * x)
                                         : -kernel::unary(Unary::log, (number(1) - x) * (number(1) + x));
  const Expr root = kernel::unary(Unary::sqrt, w);
  Expr factor;
  if (x.dtype() == DType::f32) {
    factor =
        kernel::select(below(w, 5), polynomial(middle_f32, w - number(2.5)), polynomial(end_f32, root - number(3)));
  } else {
    factor =
        kernel::select(below(w, 16), polynomial(end_f64, root - number(3.25)), polynomial(last_f64, root - number(5)));
    factor = kernel::select(below(w, 6.25), polynomial(middle_f64, w - number(3.125)), factor);
  }
  const Expr at_end = kernel::binary(Binary::eq, kernel::unary(Unary::abs, x), number(1));
  factor = kernel::select(at_end, number(std::numeric_limits<double>::infinity()), factor);
  const Expr result = x * factor;
  return is_narrow(given.dtype()) ? kernel::convert(given.dtype(), result) : result;
}

extern const OpInfo erf_inv_info;
// d erf⁻¹(x) = √π/2·e^(y²)·dx
const OpInfo erf_inv_info = family::elementwise(
    "erf_inv", "the x with erf(x) = y", 1, &decltype(dtypes::real)::has,
    eval_unary(dtypes::real, [](auto x) { return inverse(x); }),
    family::unary_jvp(erf_inv_info,
                      [](const Array&, const Array& y, const Array& dx) {
                        return dx * (std::sqrt(std::numbers::pi) / 2 * exp(y * y));
                      }),
    Absent{"not linear"}, [](std::span<const Expr> x) { return inverse(x[0]); }, {{-0.9, 0.9}}, family::same);
const bool erf_inv_installed = (install_op(erf_inv_info), true);

}  // namespace

Array erf_inv(const Operand& x) {
  const SourceScope place(x.where(), "erf_inv");
  return bind1(erf_inv_info, {}, {to_inexact(x)}).with_weak(x->weak());
}

}  // namespace tenon
