// Bessel's functions of imaginary argument, by their series in Chebyshev's polynomials.
#include <cmath>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"

namespace tenon::special {
namespace {

// exp(-x)·I₀(x) and exp(-x)·I₁(x)/x for 0 ≤ x ≤ 8 in polynomials of x/4 - 1, and √x·exp(-x)·I(x) beyond in those of
// 16/x - 1; the terms above 2e-18, from values at the polynomials' zeros to 40 digits.
constexpr double near_of_0[] = {
    0.33839763720473803,    -0.3046826723431984,     0.17162090152220877,    -0.09490109704804764,
    0.04930528423967071,    -0.02373741480589947,    0.010546460394594998,   -0.004324309995050576,
    0.0016394756169413357,  -0.0005763755745385824,  0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07,
    6.046995022541919e-08,  -1.300025009986248e-08,  2.6598237246823866e-09, -5.189795601635263e-10,
    9.675809035373237e-11,  -1.726826291441556e-11,  2.95505266312964e-12,   -4.856446783111929e-13,
    7.676185498604936e-14,  -1.1685332877993451e-14, 1.715391285555133e-15,  -2.431279846547955e-16,
    3.3307945188222384e-17, -4.4153416464793395e-18};
constexpr double far_of_0[] = {
    0.4022452055070544,      0.0033691164782556943,   6.889758346916825e-05,   2.8913705208347567e-06,
    2.0489185894690638e-07,  2.266668990498178e-08,   3.3962320257083865e-09,  4.94060238822497e-10,
    1.1889147107846439e-11,  -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13,   3.8527783827421426e-13,  1.54008621752141e-14,    -4.150569347287222e-14,
    -9.554846698828307e-15,  3.8116806693526224e-15,  1.7725601330565263e-15,  -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.461222867697461e-17,   4.46562142029676e-17,    -4.830504485944182e-18,
    -7.233180487874754e-18};
constexpr double near_of_1[] = {
    0.12629359322181682,    -0.17641651835783406,    0.1026436586898471,     -0.05294598120809499,
    0.024726449030626516,   -0.010564084894626197,   0.004156422944312888,   -0.0015135724506312532,
    0.0005122859561685758,  -0.00016176081582589674, 4.781565107550054e-05,  -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07,  2.0032947535521353e-07, -4.445059128796328e-08,
    9.381537386495773e-09,  -1.8872497517228294e-09, 3.625590281552117e-10,  -6.663489723502027e-11,
    1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13,  -5.042185504727912e-14,
    7.600684294735408e-15,  -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17,
    2.7779141127610464e-18};
constexpr double far_of_1[] = {
    0.38928811750914005,     -0.009761097491361469,   -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07,  -2.6314688468895196e-08, -3.835380385964237e-09,  -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11,  1.4125807436613782e-11,  2.0356285441470896e-12,
    -7.198551776245908e-13,  -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14,  -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.96262899764595e-16,    -3.209525921993424e-17,  -4.6503053684893586e-17, 4.414348323071708e-18,
    7.517296310842105e-18};

// The formula inside and beyond 8, each of what lies there.
struct Parts {
  Parts(const Array& x, std::span<const double> near_terms, std::span<const double> far_terms)
      : inside(abs(x) <= 8.0), small(where(inside, x, 0.0)) {
    const Array safe = where(inside, 8.0, abs(x));
    near = chebyshev(abs(small) / 4.0 - 1.0, near_terms);
    far = chebyshev(16.0 / safe - 1.0, far_terms) / sqrt(safe);
  }
  Array inside, small, near, far;
};

Array i0e_of(In in) {
  const Array& x = in[0];
  const Parts parts(x, near_of_0, far_of_0);
  return where(is_nan(x), x, where(parts.inside, parts.near, parts.far));
}
Array i1e_of(In in) {
  const Array& x = in[0];
  const Parts parts(x, near_of_1, far_of_1);
  return where(is_nan(x), x, where(parts.inside, parts.near * parts.small, sign(x) * parts.far));
}
Array i0e_slope(In in) {
  const Array& x = in[0];
  return special::i1e(x) - sign(x) * special::i0e(x);
}
Array i1e_slope(In in) {
  const Array& x = in[0];
  const Array zero = x == 0.0;
  return where(zero, 0.5, special::i0e(x) - special::i1e(x) * (sign(x) + 1.0 / where(zero, 1.0, x)));
}
// exp(|x|)·scaled(x), where the first may overflow; |x| with the slope 0 at 0.
template <Array (*scaled)(const Operand& x)>
Array unscaled(In in) {
  const Array &x = in[0], size = x * sign(x), endless = size == infinity, large = size > 80.0;
  const Array usual = where(endless, 1.0, size), value = scaled(where(endless, 1.0, x));
  const Array made = exp(where(large, usual - 8.0, usual)) * (value * where(large, std::exp(8.0), 1.0));
  return where(endless, scaled == special::i0e ? size : x, made);
}

constinit const SpecialFunction i0e_function("i0e", i0e_of, i0e_slope);
constinit const SpecialFunction i1e_function("i1e", i1e_of, i1e_slope);
constinit const SpecialFunction i0_function("i0", unscaled<special::i0e>);
constinit const SpecialFunction i1_function("i1", unscaled<special::i1e>);

}  // namespace

Array i0e(const Operand& x) { return i0e_function({x}); }
Array i1e(const Operand& x) { return i1e_function({x}); }
Array i0(const Operand& x) { return i0_function({x}); }
Array i1(const Operand& x) { return i1_function({x}); }

}  // namespace tenon::special
