// The error function's kin: erfcx, Dawson's integral, the normal distribution function, Owen's T.
#include <cmath>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

// By tools/chebyshev.py, series in Chebyshev's polynomials: of (1 + 2x) erfcx(x) in (x - 3) / (x + 3); of F(x) / x, F
// Dawson's integral, in 2x² - 1 of x ≤ 1; of (ndtr(x) - 1/2) / x in 8x² - 1 of x ≤ 1/2; of ndtri(u + 1/2) / u in
// 32 u² - 1; and of -ndtri(exp(-r²/2)) / r in log r, which goes from `least` to `most`. And a quotient of polynomials:
// of ((1 + 2x²) F(x) / x - 1) / (1 - t²) beyond, in t = (x² - middle) / (x² + middle).
constexpr double terms_of_erfcx[] = {
    1.17756257419656,       0.005353904539615676,    -0.09377550342284209,    0.05436652555744322,
    -0.018976596707845208,  0.004453426061462712,    -0.0006335531710553147,  1.7661719523171593e-05,
    1.2841532864056671e-05, -2.0072285659059913e-06, -1.807522790414837e-07,  7.549828343825093e-08,
    1.885668523838603e-09,  -2.699519049798364e-09,  -1.460079119939105e-11,  1.0361607445969489e-10,
    1.475715976623473e-12,  -4.277340064396911e-12,  -2.07922492859799e-13,   1.8134502003176963e-13,
    1.973425574544739e-14,  -7.287943737592673e-15,  -1.5169878690228116e-15, 2.3514112258781403e-16,
    1.0006111691821667e-16, -2.0572528169538546e-18, -5.608608218863183e-18};
constexpr double near_of_dawsn[] = {0.746824132812427,       -0.2294071479677387,    0.022130500939084766,
                                    -0.001549265453892985,   8.497327715684918e-05,  -3.828266270972015e-06,
                                    1.4628548062501633e-07,  -4.851982381825992e-09, 1.4214635777591398e-10,
                                    -3.7288360879205966e-12, 8.854942961778204e-14,  -1.9207571313502062e-15,
                                    3.834325867246328e-17};
constexpr double numerator_of_dawsn[] = {
    0.07765730793750875, -0.4228878877961676, 1.6465695004152563, -4.46562630119986,  10.35914958567493,
    -20.17448053144272,  35.99940570924998,   -57.47836695901172, 85.04227456862581,  -112.48371791892961,
    133.76037816331979,  -138.10522165649726, 123.42214641259544, -92.75823891707651, 58.12892516589641,
    -29.485498807232883, 11.851401975340853,  -3.606319401412836, 0.7832079331176629, -0.10770868573834112,
    0.007059078638190553};
constexpr double denominator_of_dawsn[] = {1.0,
                                           -3.2427003526211506,
                                           10.321124430825545,
                                           -16.778867564279707,
                                           29.869333059933535,
                                           -28.67737928397744,
                                           39.43236204441539,
                                           -18.993226442520307,
                                           31.553843875977588,
                                           1.1322423024327017,
                                           21.065145362648586,
                                           11.032995098474476,
                                           13.259749356377744,
                                           8.758093818306238,
                                           6.105737956115238,
                                           3.3024517608871005,
                                           1.538617016103381,
                                           0.5666181148066541,
                                           0.16196955216798267,
                                           0.03328764102481342,
                                           0.004390975042490491,
                                           0.0002780083991510374};
constexpr double numerator_of_dawsn_in_f32[] = {0.2158049543174538, -0.8647402533866245, 2.4792425610804862,
                                                -4.346082353444417, 5.730958293002347,   -4.835150933118324,
                                                2.862774282644207,  -0.9169700691266989, 0.14413679088188489};
constexpr double denominator_of_dawsn_in_f32[] = {1.0,
                                                  -1.4079304977791396,
                                                  3.533864366974175,
                                                  -1.2858579797961045,
                                                  3.6443132310559654,
                                                  1.2191814277742532,
                                                  2.331346257819188,
                                                  1.3115938682282196,
                                                  0.7007328073358188,
                                                  0.20372730276519438,
                                                  0.028387703936498237};
constexpr double near_of_ndtr[] = {0.3908590616983504,     -0.008008126548327053,  7.45364285294373e-05,
                                   -5.523612869474231e-07, 3.347774389809849e-09,  -1.708894425968849e-11,
                                   7.521385997488415e-14,  -2.9071634222102125e-16};
constexpr double terms_of_ndtri[] = {2.598548440430352,      0.09548367092001991,    0.0037354309511795844,
                                     0.0001811346508667716,  9.733217788337892e-06,  5.554838379235568e-07,
                                     3.298226684005369e-08,  2.0139495833357736e-09, 1.2556458045030054e-10,
                                     7.955782456151456e-12,  5.105861628934046e-13,  3.311266180495945e-14,
                                     2.1661489399349104e-15, 1.4274540123809034e-16, 9.465727659117326e-18};
constexpr double terms_of_ndtri_tail[] = {
    0.8391320021469308,      0.24832592542437332,    -0.12566831061637354,    0.045149028542696555,
    -0.012062276185238514,   0.0024403939130338828,  -0.00036994353772467524, 4.018506505574852e-05,
    -3.0884934830493447e-06, 3.5249250275282745e-07, -1.0434718670738865e-07, 1.9107328985132004e-08,
    9.599725883353392e-10,   -1.257302083384759e-09, 1.676808711697704e-10,   5.634072487705494e-11,
    -2.345604524105319e-11,  4.365769288461294e-13,  1.7193632780362175e-12,  -3.7558225731446835e-13,
    -6.344731289252148e-14,  4.3044419563791554e-14, -3.1867580232305938e-15, -2.975315176731008e-15,
    8.434398780373447e-16,   9.196038406440746e-17,  -8.999267800282558e-17,  9.009220670515303e-18,
    6.162901099119448e-18};
const double least_of_log = 0.5 * std::log(2 * std::log(4.0)), most_of_log = std::log(39.0);

// Σ (2k - 1)!! (±w)^k over k ≥ 1: what is left of the asymptotic series of 2x F(x), or with - of √π x erfcx(x), past
// its 1, in w = 1 / (2x²) ≤ 1/200.
constexpr double far = 10;
Array rest_of_series(const Array& x, double sign) {
  const Array w = sign / (2.0 * x * x);
  Array made = zeros_like(x);
  for (int k = 12; k > 0; --k) made = w * (2 * k - 1) * (1.0 + made);
  return made;
}

// erfcx of what is not negative.
Array erfcx_of_size(const Array& size) {
  const Array finite = where(size == infinity, 3.0, size);
  return chebyshev((finite - 3.0) / (finite + 3.0), terms_of_erfcx) / (1.0 + 2.0 * size);
}
Array erfcx_of(In in) {
  const Array& x = in[0];
  const Array right = erfcx_of_size(abs(x));
  const Array left = where(x < 0.0, where(x < -30.0, -30.0, x), 0.0);  // there the square's exponential overflows
  return where(x < 0.0, 2.0 * exp_of_square(1.0, left) - right, right);
}
Array erfcx_slope(In in) {
  const Array& x = in[0];
  const Array beyond = x > far, y = where(beyond, x, far), near = where(beyond, 0.0, x);
  return 2.0 * std::numbers::inv_sqrtpi *
         where(beyond, rest_of_series(y, -1.0), std::sqrt(pi) * near * erfcx(near) - 1.0);
}

Array dawsn_of(In in) {
  const Array& x = in[0];
  const bool is_long = x.dtype() == DType::f64;
  const Array near = abs(x) <= 1.0, large = abs(x) > 1e8, small = where(near, x, 0.0);
  const Array inside = small * chebyshev(2.0 * small * small - 1.0, near_of_dawsn);
  const double middle = is_long ? 14 : 6;
  const Array y = where(near | large, 1.0, x), square = y * y, t = (square - middle) / (square + middle);
  const Array above = is_long ? polynomial(t, numerator_of_dawsn) : polynomial(t, numerator_of_dawsn_in_f32);
  const Array below = is_long ? polynomial(t, denominator_of_dawsn) : polynomial(t, denominator_of_dawsn_in_f32);
  // y (1 + (1 - t²) above / below) / (1 + 2y²): so the ends of t have no error of the quotient, and 2y² is not rounded.
  const Array made = y * (below + (1.0 - t) * (1.0 + t) * above) / (below * (1.0 + 2.0 * y * y));
  return where(near, inside, where(large, 0.5 / where(large, x, 1.0), made));
}
Array dawsn_slope(In in) {
  const Array& x = in[0];
  const Array beyond = abs(x) > far, y = where(beyond, x, far), near = where(beyond, 0.0, x);
  return where(beyond, -rest_of_series(y, 1.0), 1.0 - 2.0 * near * dawsn(near));
}

// --- the normal distribution ---
constexpr double half_root = 1 / std::numbers::sqrt2;
const double root_of_two_pi = std::sqrt(2 * pi);

// exp(-x²/2), which is 0 long before 40.
Array bell(const Array& x) { return exp_of_square(-0.5, clamp(x, -40.0, 40.0)); }

// ndtr(x) - 1/2 of |x| < 1/2.
Array above_half(const Array& x) { return x * chebyshev(8.0 * x * x - 1.0, near_of_ndtr); }

Array ndtr_of(In in) {
  const Array& x = in[0];
  const Array tail = 0.5 * erfcx_of_size(half_root * abs(x)) * bell(x);  // the probability beyond |x|
  const Array near = abs(x) < 0.5;
  const Array inside = where(near, x, 0.0);
  return where(near, 0.5 + above_half(inside), where(x > 0.0, 1.0 - tail, tail));
}
Array log_ndtr_of(In in) {
  const Array& x = in[0];
  const Array low = x < 0.0,
              scaled = 0.5 * erfcx_of_size(half_root * abs(x));  // the tail's probability over exp(-x²/2)
  const Array tail = where(low, x, 0.0);
  const Array beyond =
      where(low, log(where(low, scaled, 0.5)) - 0.5 * tail * tail, log1p(-where(low, 0.0, scaled * bell(x))));
  // Where the probability is near 1/2, that it is 1/2 takes no part in what is rounded.
  const Array near = abs(x) < 0.5, inside = where(near, x, 0.0);
  return where(near, log1p(2.0 * above_half(inside)) - std::numbers::ln2, beyond);
}
Array log_ndtr_slope(In in) { return std::sqrt(2 / pi) / erfcx(-half_root * in[0]); }

Array ndtri_of(In in) {
  const Array& p = in[0];
  const Array u = p - 0.5, middle = abs(u) <= 0.25, near = where(middle, u, 0.0);
  const Array central = near * chebyshev(32.0 * near * near - 1.0, terms_of_ndtri);
  const Array low = u < 0.0, tail = where(low, p, 1.0 - p), inside = tail > 0.0;
  const Array square = -2.0 * log(where(inside & !middle, tail, 0.125));
  const Array t = (log(square) - (least_of_log + most_of_log)) / (most_of_log - least_of_log);
  const Array far = sqrt(square) * chebyshev(t, terms_of_ndtri_tail);
  const Array ends = where(p == 0.0, -infinity, where(p == 1.0, infinity, nan));
  return where(middle, central, where(inside, where(low, -far, far), ends));
}
Array ndtri_slope(In in) {
  const Array x = ndtri(in[0]), finite = is_finite(x);
  return where(finite, root_of_two_pi * exp_of_square(0.5, where(finite, x, 0.0)), where(is_nan(x), nan, infinity));
}

// --- Owen's T ---
// The positive zeros of Legendre's polynomials of degree 18 and 48, for f32 and f64, with their weights in Gauss's
// rule.
constexpr double nodes_of_18[][2] = {
    {0.0847750130417353, 0.1691423829631436},   {0.2518862256915055, 0.16427648374583273},
    {0.41175116146284263, 0.15468467512626524}, {0.5597708310739475, 0.14064291467065065},
    {0.6916870430603532, 0.12255520671147846},  {0.8037049589725231, 0.10094204410628717},
    {0.8926024664975557, 0.07642573025488905},  {0.9558239495713977, 0.0497145488949698},
    {0.9915651684209309, 0.02161601352648331}};
constexpr double nodes_of_48[][2] = {
    {0.03238017096286936, 0.06473769681268392},  {0.0970046992094627, 0.06446616443595009},
    {0.1612223560688917, 0.06392423858464819},   {0.22476379039468905, 0.06311419228625402},
    {0.28736248735545555, 0.062039423159892665}, {0.34875588629216075, 0.06070443916589388},
    {0.4086864819907167, 0.059114839698395635},  {0.4669029047509584, 0.057277292100403214},
    {0.523160974722233, 0.055199503699984165},   {0.5772247260839727, 0.05289018948519367},
    {0.6288673967765136, 0.05035903555385447},   {0.6778723796326639, 0.04761665849249048},
    {0.7240341309238146, 0.04467456085669428},   {0.7671590325157404, 0.04154508294346475},
    {0.8070662040294426, 0.03824135106583071},   {0.8435882616243935, 0.03477722256477044},
    {0.8765720202742479, 0.03116722783279809},   {0.9058791367155696, 0.027426509708356948},
    {0.9313866907065543, 0.02357076083932438},   {0.9529877031604309, 0.01961616045735553},
    {0.9705915925462473, 0.015579315722943849},  {0.9841245837228269, 0.01147723457923454},
    {0.9935301722663508, 0.0073275539012762625}, {0.9987710072524261, 0.0031533460523058385}};

// T(h, a) of h ≥ 0 and 0 ≤ a ≤ 1: its integrand is even, so half of a rule of twice the degree gives it; it is cut
// where nothing is left of it.
Array owens_t_within(const Array& h, const Array& a) {
  const bool wide = h.dtype() == DType::f64;
  const double reach = wide ? 8.8 : 6.2;
  const Array ends = where(h * a > reach, reach / where(h > 1.0, h, 1.0), a),
              half_square = 0.5 * (h * ends) * (h * ends);
  const Array square = ends * ends;
  Array total = zeros_like(h);
  for (const auto& [node, weight] : wide ? std::span<const double[2]>(nodes_of_48) : nodes_of_18)
    total = total + weight * exp(-(node * node) * half_square) / (1.0 + node * node * square);
  return bell(h) * ends * total / (2.0 * pi);
}
Array owens_t_of(In in) {
  const Array &h = in[0], &a = in[1];
  const Array height = clamp(abs(h), 0.0, 40.0), size = abs(a), steep = size > 1.0, endless = size == infinity;
  const Array finite = where(endless, 1.0, size), turned = where(steep, 1.0 / where(steep, size, 1.0), finite);
  const Array other = clamp(height * finite, 0.0, 40.0);
  const Array within = owens_t_within(where(steep, other, height), turned);
  const Array p = 0.5 * erfc(half_root * height),
              q = where(endless, where(height == 0.0, 0.5, 0.0), 0.5 * erfc(half_root * other));
  // T(h, a) + T(ah, 1/a) is known (Owen 1956, equation 2.3).
  const Array beyond = 0.5 * (p * (1.0 - q) + q * (1.0 - p)) - where(endless & (height > 0.0), 0.0, within);
  const Array made = where(endless, 0.5 * p, where(steep, beyond, within));
  return where(is_nan(h) | is_nan(a), nan, sign(a) * made);
}
Array owens_t_in_h(In in) {
  const Array& h = in[0];
  return -bell(h) * erf(half_root * in[1] * h) / (2.0 * root_of_two_pi);
}
Array owens_t_in_a(In in) {
  const Array more = 1.0 + in[1] * in[1];
  return exp(-0.5 * in[0] * in[0] * more) / (2.0 * pi * more);
}

constinit const SpecialFunction erfcx_function("erfcx", erfcx_of,
                                               OfComplex{[](In x) { return wofz(complex(-imag(x[0]), real(x[0]))); }},
                                               erfcx_slope);
constinit const SpecialFunction dawsn_function("dawsn", dawsn_of, dawsn_slope);
constinit const SpecialFunction ndtr_function("ndtr", ndtr_of, [](In x) { return bell(x[0]) / root_of_two_pi; });
constinit const SpecialFunction log_ndtr_function("log_ndtr", log_ndtr_of, log_ndtr_slope);
constinit const SpecialFunction ndtri_function("ndtri", ndtri_of, ndtri_slope);
constinit const SpecialFunction owens_t_function("owens_t", owens_t_of, owens_t_in_h, owens_t_in_a);

}  // namespace

Array erfcx(const Operand& x) { return erfcx_function({x}); }
Array dawsn(const Operand& x) { return dawsn_function({x}); }
Array ndtr(const Operand& x) { return ndtr_function({x}); }
Array log_ndtr(const Operand& x) { return log_ndtr_function({x}); }
Array ndtri(const Operand& p) { return ndtri_function({p}); }
Array owens_t(const Operand& h, const Operand& a) { return owens_t_function({h, a}); }

}  // namespace tenon::special
