// The exponential, sine, cosine and Fresnel's integrals, and Spence's function.
#include <cmath>
#include <tuple>

#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/api/special/iteration.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

// Series in Chebyshev's polynomials by tools/chebyshev.py, where a far one is in t = (x - middle) / (x + middle - 2
// edge). E₁(x) + log x of x ≤ 1, and x exp(x) E₁(x) beyond, of the middle 4.
constexpr double near_of_e1[] = {-0.15608954289343577,   0.39708785273195646,     -0.02277106547144326,
                                 0.0012097775028096784,  -5.5182563885653714e-05, 2.1671613488351387e-06,
                                 -7.426313409051455e-08, 2.2509122178774545e-09,  -6.107395323643698e-11,
                                 1.498675699736102e-12,  -3.354930941889216e-14,  6.90235852390662e-16,
                                 -1.3134361119396419e-17};
constexpr double far_of_e1[] = {
    0.8121695479291701,     0.19877948214947017,    -0.013589634127867593,   0.0029498916375537004,
    -0.0003907636762266594, 9.295514456059183e-05,  -1.4795052892102334e-05, 3.8005682780246923e-06,
    -6.424367330990174e-07, 1.794013017306885e-07,  -2.997531758156375e-08,  9.367192724736652e-09,
    -1.430990110218307e-09, 5.340360951053552e-10,  -6.525881950383355e-11,  3.344891116610805e-11,
    -2.330605548854824e-12, 2.350337637930449e-12,  1.921631896960905e-14,   1.9034983784207435e-13,
    1.9976803734972913e-14, 1.8061305202331017e-14, 3.647060613875213e-15,   1.992148815013435e-15,
    5.5754607643578855e-16, 2.4856648220534434e-16, 8.263153846691172e-17,   3.402500091202205e-17,
    1.2407903097726667e-17, 4.9899616519743245e-18};
// (Ei(x) - log(x / z)) / (x - z) · exp(-x) (1 + x) of x ≤ 6, where z is the zero of Ei; x exp(-x) Ei(x) beyond, of the
// middle 26.
constexpr double near_of_ei[] = {
    0.6703458534546494,      -0.48462146406551093,   0.04585621572495887,     0.04833357629764745,
    -0.03326735701158888,    0.012940100953983727,   -0.003763653841784184,   0.0008927863936928132,
    -0.00018030957095810208, 3.182994746688217e-05,  -5.000896843523359e-06,  7.086983942379757e-07,
    -9.153502043852167e-08,  1.0865572725238146e-08, -1.1935762795517102e-09, 1.2203899379497248e-10,
    -1.1672164660533684e-11, 1.048754107237848e-12,  -8.885836410582927e-14,  7.12308293941453e-15,
    -5.418354639690849e-16,  3.921466041467213e-17,  -2.7067623411131272e-18};
constexpr double far_of_ei[] = {
    1.0832637067090896,     -0.11748955296330962,   0.04838095112303495,     -0.019756982466923447,
    0.007544576937691657,   -0.0024185398683789824, 0.0004643159896293272,   0.00011418853537066605,
    -0.0001749058699589088, 0.00010311753702270947, -3.847134531303318e-05,  7.36786509481778e-06,
    1.3393102923716714e-06, -1.557581196310357e-06, 4.7592672345804114e-07,  1.6003098673975255e-08,
    -6.297422610313744e-08, 1.5421231657955712e-08, 4.494555179993684e-09,   -3.121985865278687e-09,
    -4.662285224262063e-12, 4.475728148711906e-10,  -6.586181599717648e-11,  -5.93627056339945e-11,
    1.6491142197954453e-11, 7.994243911810065e-12,  -3.19232159827247e-12,   -1.1746412987000797e-12,
    5.724164246913866e-13,  1.9605454707959582e-13, -9.920565647847142e-14,  -3.726177669784926e-14,
    1.6602659672189508e-14, 7.778491979138758e-15,  -2.5849588248572985e-15, -1.698412157202446e-15,
    3.358534679171971e-16,  3.7082919279773553e-16, -2.1006044114354643e-17, -7.776343571845086e-17,
    -7.302746148043937e-18, 1.4937381195605867e-17, 4.120361083477864e-18,   -2.410044642157728e-18};
constexpr double zero_of_ei[] = {0.3725074107813666, 1.3140183414386028e-17};  // their sum
// Si(x) / x and (Ci(x) - log x - γ) / x² in x², of x ≤ 6; x f(x) and x² g(x) beyond, of the middle 14, where
// π/2 - Si = f cos + g sin and Ci = f sin - g cos.
constexpr double near_of_si[] = {0.5087834196708464,      -0.36229678488974704,   0.10789221711536721,
                                 -0.018830204411799018,   0.0020405502643601283,  -0.0001487433956038126,
                                 7.766261124466676e-06,   -3.044691359351253e-07, 9.290471558889857e-09,
                                 -2.2692965524032308e-10, 4.5379981848801926e-12, -7.567162163119217e-14,
                                 1.0683964853782718e-15,  -1.2937980244059442e-17};
constexpr double near_of_ci[] = {-0.14022432631440304,   0.08875416506158704,     -0.01841833890650003,
                                 0.0023858220785470917,  -0.00020445746330252182, 1.2322166011773935e-05,
                                 -5.487245229260128e-07, 1.8765710225710948e-08,  -5.080525355582219e-10,
                                 1.115695523277196e-11,  -2.0271537211071305e-13, 3.0979253389659693e-15,
                                 -4.0374463501384964e-17};
constexpr double far_of_f[] = {
    0.984098188005965,       0.021800501621004005,    -0.006213416938979241,   0.00028227281525265436,
    3.2379953657289384e-05,  6.432462095870498e-07,   -4.888395153305543e-07,  -8.043424184218788e-08,
    -1.9491925209679775e-09, 1.9786966012704327e-09,  5.061616668274652e-10,   4.901408586960126e-11,
    -8.336584631968214e-12,  -4.6696256377070675e-12, -1.0080633650827896e-12, -7.247488141404366e-14,
    3.400016849828272e-14,   1.6636395940266033e-14,  3.968286513478116e-15,   3.865469258711411e-16,
    -1.33010419917346e-16,   -8.456830905237363e-17,  -2.56371604251188e-17,   -4.30961216155667e-18};
constexpr double far_of_g[] = {
    0.9565229696872108,      0.05865217645750626,     -0.015308307835434345,   -5.3242438413425764e-05,
    0.00017382221330262287,  1.4932115902118317e-05,  -1.6512504490496763e-06, -6.416571581256372e-07,
    -6.995411041584292e-08,  7.338312365339116e-09,   4.494907812056326e-09,   8.540373678429289e-10,
    2.6130338613758162e-11,  -3.6516088767044314e-11, -1.3202293528860205e-11, -2.289748877354978e-12,
    2.625274159391137e-14,   1.641862707440593e-13,   6.171358439880274e-14,   1.255255484345756e-14,
    4.0503738758296923e-16,  -8.468130969469178e-16,  -4.081428605521461e-16,  -1.1089900600575208e-16,
    -1.4547801080890047e-17, 3.473415980822743e-18,   3.102380626446854e-18};
// S(x) / x³ and C(x) / x in x⁴, of x ≤ 7/4; π x f(x) and π² x³ g(x) beyond, in x², of an edge of 49/16 and the middle 5
// past it, where 1/2 - S = f cos + g sin and 1/2 - C = g cos - f sin, of πx²/2.
constexpr double near_of_fresnel_s[] = {0.2647333100496571,      -0.2103718681174676,     0.043326063903101064,
                                        -0.004822546600746415,   0.00032933783653436464,  -1.5136792858910796e-05,
                                        4.996376562288125e-07,   -1.2415817042922154e-08, 2.4067073593201477e-10,
                                        -3.7412154147913095e-12, 4.768170361393414e-14,   -5.073362739833758e-16,
                                        4.574947184847051e-18};
constexpr double near_of_fresnel_c[] = {0.454498158253988,      -0.38625019135522703,    0.13555426522547234,
                                        -0.02165953709597528,   0.0019247656428570262,   -0.0001087078142111697,
                                        4.2499559125408645e-06, -1.2193106757591063e-07, 2.6781263377216075e-09,
                                        -4.650049030319006e-11, 6.544959471684279e-13,   -7.620196148133564e-15,
                                        7.462152909479592e-17};
constexpr double far_of_fresnel_f[] = {
    0.9914547058698884,     0.012165548360305888,   -0.00412835657468545,    0.0005419039017369983,
    -3.551449844106168e-05, 2.103866832798695e-06,  -4.233427059262973e-07,  3.1274232829208655e-08,
    3.2354819943394457e-10, 8.472458922701751e-10,  -1.0278593343935063e-11, -1.2008396058077613e-11,
    -5.116258390912757e-12, -6.395374149276993e-13, 2.419658972828454e-14,   4.490766594821376e-14,
    1.3363401364284252e-14, 2.0693466077739854e-15, -9.531252981736304e-17,  -1.7566985556679846e-16,
    -6.330815876914616e-17, -1.300563053119617e-17};
constexpr double far_of_fresnel_g[] = {
    0.9618985705152662,      0.05326061051124766,     -0.016564316851657913,   0.0013417726473724876,
    7.086372265968749e-05,   -5.269659485871678e-06,  -2.0879582279899917e-06, -1.8078775952516793e-07,
    2.5692212611347013e-08,  1.0768175606225694e-08,  1.5599828259138138e-09,  -5.141100199654154e-11,
    -8.431932406855792e-11,  -2.2403829994415363e-11, -2.5133974538690144e-12, 4.551537989847163e-13,
    3.142766625675695e-13,   8.544054948722676e-14,   1.0950810702276054e-14,  -1.8592067691626063e-15,
    -1.5982885727355762e-15, -5.310081369462425e-16,  -1.0000315545544326e-16, 7.0308867219281085e-19,
    9.253368454267174e-18,   4.318653394553462e-18};

// --- of exponentials ---
Array exp1_of(In in) {
  const Array& x = in[0];
  const Array near = x <= 1.0, small = where(near & (x > 0.0), x, 1.0),
              large = where(near, 1.0, where(x > 1e3, 1e3, x));
  const Array made = where(near, chebyshev(2.0 * small - 1.0, near_of_e1) - log(small),
                           exp(-large) / large * chebyshev((large - 4.0) / (large + 2.0), far_of_e1));
  return where(x > 0.0, made, where(x == 0.0, infinity, nan));
}

Array expi_of(In in) {
  const Array& x = in[0];
  const Array positive = x > 0.0, near = x <= 6.0;
  const Array small = where(positive & near, x, 1.0), large = where(near, 6.0, where(x > 1e3, 1e3, x));
  const double high = x.dtype() == DType::f64 ? zero_of_ei[0] : static_cast<float>(zero_of_ei[0]);
  const double low = (zero_of_ei[0] - high) + zero_of_ei[1];
  const Array away = small - high - low, tiny = small < 0.2;
  const Array logarithm =
      where(tiny, log(where(tiny, small, 1.0) / zero_of_ei[0]), log1p(where(tiny, 0.0, away) / zero_of_ei[0]));
  const Array root = exp(0.5 * where(near, small, large));  // its square may overflow where Ei does not
  const Array inside = logarithm + away * root * root / (1.0 + small) * chebyshev(small / 3.0 - 1.0, near_of_ei);
  const Array beyond = root * (chebyshev((large - 26.0) / (large + 14.0), far_of_ei) / large) * root;
  const Array left = -exp1(where(positive, 1.0, -x));  // -∞ at 0
  return where(positive, where(near, inside, where(x == infinity, x, beyond)), where(is_nan(x), x, left));
}

// E_n(x) of x ≤ 1, by its series: (-x)^(n-1) / (n-1)! (ψ(n) - log x) - Σ (-x)^k / (k! (k - n + 1)), k ≠ n - 1.
Array expn_series(const Array& n, const Array& x) {
  const int terms = x.dtype() == DType::f64 ? 20 : 12;
  Array power = ones_like(x), total = zeros_like(x);
  for (int k = 0; k < terms; ++k) {
    const Array order = static_cast<double>(k + 1) - n;
    total = total + where(order == 0.0, 0.0, power / where(order == 0.0, 1.0, order));
    power = power * (-x / static_cast<double>(k + 1));
  }
  const Array size = exp((n - 1.0) * log(x) - lgamma(n));
  return where(is_odd(n), size, -size) * (digamma(n) - log(x)) - total;
}
// E_n(x) exp(x) beyond, by Legendre's continued fraction.
Array expn_fraction(const Array& going, const Array& n, const Array& x) {
  const auto terms = [](const Array& n, In others) {
    const Array x = others[0];
    return Fraction{x + n, [=](const Array& k) { return -k * (n + (k - 1.0)); },
                    [=](const Array& k) { return x + n + 2.0 * k; }};
  };
  return 1.0 / value_of_fraction(going, terms, n, {x}, false);
}
Array expn_of(In in) {
  const Array &n = in[0], &x = in[1];
  const Array whole = (n >= 0.0) & (floor(n) == n) & is_finite(n) & (x >= 0.0);
  const Array first = n == 0.0, usual = whole & !first & (x > 0.0) & (x < infinity), near = usual & (x <= 1.0);
  const Array order = where(usual, n, 1.0), beyond = usual & !near;
  const Array small = where(near, x, 0.5), large = where(beyond, x, 2.0);
  const Array made = where(near, expn_series(order, small), exp(-large) * expn_fraction(beyond, order, large));
  const Array at_zero = where(n > 1.0, 1.0 / where(n > 1.0, n - 1.0, 1.0), infinity);
  const Array of_0 = exp(-where(first, x, 0.0)) / where(first, x, 1.0);
  return where(usual, made, where(whole, where(x == 0.0, at_zero, where(first, of_0, 0.0)), nan));
}
Array expn_slope(In in) {
  const Array &n = in[0], &x = in[1];
  const Array first = n == 0.0, y = where(first, x, 1.0);
  return where(first, -exp(-y) / y * (1.0 + 1.0 / y), -expn(where(first, 1.0, n) - 1.0, x));
}

// --- of sines ---
// sin(x) / x, whose derivatives are exact at 0 too.
Array sine_ratio(const Array& x) {
  const Array near = abs(x) < 1.0, small = where(near, x, 0.0), large = where(near, 1.0, x);
  std::array<double, 10> terms;
  double factorial = 1;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    terms[k] = (k % 2 == 0 ? 1.0 : -1.0) / factorial;
    factorial *= static_cast<double>((2 * k + 2) * (2 * k + 3));
  }
  return where(near, polynomial(small * small, terms), sin(large) / large);
}
Arrays sici_of(In in) {
  const Array& x = in[0];
  const Array size = abs(x), near = size <= 6.0, small = where(near, size, 6.0);
  const Array t = small * small / 18.0 - 1.0;
  const Array large = where(near | !is_finite(size), 6.0, size), u = (large - 14.0) / (large + 2.0),
              inverse = 1.0 / large;
  const Array f = inverse * chebyshev(u, far_of_f), g = inverse * (inverse * chebyshev(u, far_of_g));
  const Array sine = sin(large), cosine = cos(large), endless = size == infinity;
  const Array si_far = where(endless, pi / 2, pi / 2 - f * cosine - g * sine);
  const Array ci_far = where(endless, where(x < 0.0, nan, 0.0), f * sine - g * cosine);
  const Array ci_near = std::numbers::egamma + log(small) + small * small * chebyshev(t, near_of_ci);
  const Array si = where(near, small * chebyshev(t, near_of_si), si_far) * sign(x);
  return {where(is_nan(x), x, si), where(is_nan(x), x, where(near, ci_near, ci_far))};
}

// π/2 · (x² less the multiple of 4 next to it).
Array phase(const Array& x) {
  const Array high = high_half(x), square = high * high;
  return pi / 2 * (square - 4.0 * round(0.25 * square) + (x - high) * (x + high));
}
Arrays fresnel_of(In in) {
  constexpr double edge = 1.75;
  const Array& x = in[0];
  const Array size = abs(x), near = size <= edge, small = where(near, size, 0.0), square = small * small;
  const Array t = square * square * (2 / (edge * edge * edge * edge)) - 1.0;
  // Past the last numbers 1/2 is left.
  const double last = 4 / epsilon_of(x.dtype());
  const Array large = where(near, edge, where(size > last, last, size)), from = large * large - edge * edge;
  const Array u = (from - 5.0) / (from + 5.0), inverse = 1.0 / (pi * large), angle = phase(large);
  const Array f = inverse * chebyshev(u, far_of_fresnel_f);
  const Array g = inverse * (inverse / large) * chebyshev(u, far_of_fresnel_g);
  const Array sine = sin(angle), cosine = cos(angle);
  const Array s = where(near, small * square * chebyshev(t, near_of_fresnel_s), 0.5 - f * cosine - g * sine);
  const Array c = where(near, small * chebyshev(t, near_of_fresnel_c), 0.5 + f * sine - g * cosine);
  return {where(is_nan(x), x, s * sign(x)), where(is_nan(x), x, c * sign(x))};
}
Arrays fresnel_slope(In in) {
  const Array angle = phase(in[0]);
  return {sin(angle), cos(angle)};
}

// --- Spence's function ---
// Li₂(1 - exp(-u)) = Σ B_k u^(k + 1) / (k + 1)! of Bernoulli's numbers, of |u| ≤ log 2.
Array dilogarithm(const Array& u) {
  constexpr double bernoulli_over_factorial[] = {1. / 6 / 6,
                                                 -1. / 30 / 120,
                                                 1. / 42 / 5040,
                                                 -1. / 30 / 362880,
                                                 5. / 66 / 39916800,
                                                 -691. / 2730 / 6227020800,
                                                 7. / 6 / 1307674368000,
                                                 -3617. / 510 / 355687428096000,
                                                 43867. / 798 / 121645100408832000};
  const Array square = u * u;
  return u - 0.25 * square + u * square * polynomial(square, bernoulli_over_factorial);
}
Array spence_of(In in) {
  const Array& x = in[0];
  const Array large = x > 2.0, y = where(large, 1.0 / where(large, x, 1.0), where(x >= 0.0, x, 1.0)), low = y < 0.5;
  const Array zero = x == 0.0, logarithm = log(where(large, x, where(zero, 1.0, y))) * where(large, -1.0, 1.0);
  const Array u = where(low, -log1p(-where(low, y, 0.0)), -logarithm), value = dilogarithm(u);
  const Array made = where(low, pi * pi / 6 + u * logarithm - value, value);
  const Array above = where(x == infinity, -infinity, -0.5 * logarithm * logarithm - made);
  return where(x >= 0.0, where(large, above, made), nan);
}
// log(x) / (1 - x), by its series near 1.
Array spence_slope(In in) {
  const Array& x = in[0];
  const Array away = 1.0 - x, near = abs(away) < 0.125, small = where(near, away, 0.0);
  std::array<double, 20> terms;
  for (std::size_t k = 0; k < terms.size(); ++k) terms[k] = -1.0 / static_cast<double>(k + 1);
  return where(near, polynomial(small, terms), log(where(near, 0.5, x)) / where(near, 1.0, away));
}

constinit const SpecialFunction exp1_function("exp1", exp1_of, [](In x) { return -exp(-x[0]) / x[0]; });
constinit const SpecialFunction expi_function("expi", expi_of, [](In x) { return exp(x[0]) / x[0]; });
constinit const SpecialFunction expn_function("expn", expn_of, [](In x) { return zeros_like(x[0]); }, expn_slope);
constinit const SpecialFunction sici_function("sici", sici_of,
                                              [](In x) { return Arrays{sine_ratio(x[0]), cos(x[0]) / x[0]}; });
constinit const SpecialFunction fresnel_function("fresnel", fresnel_of, fresnel_slope);
constinit const SpecialFunction spence_function("spence", spence_of, spence_slope);

std::pair<Array, Array> both(const Arrays& results) { return {results[0], results[1]}; }

}  // namespace

Array exp1(const Operand& x) { return exp1_function({x}); }
Array expi(const Operand& x) { return expi_function({x}); }
Array expn(const Operand& n, const Operand& x) { return expn_function({n, x}); }
std::pair<Array, Array> sici(const Operand& x) { return both(sici_function.results({x})); }
std::pair<Array, Array> fresnel(const Operand& x) { return both(fresnel_function.results({x})); }
Array spence(const Operand& x) { return spence_function({x}); }

}  // namespace tenon::special
