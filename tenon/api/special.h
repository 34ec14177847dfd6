// Special functions of real arrays, element by element.
//
// Operands promote and broadcast; integers become f32 (64-bit ones f64), and f8, f16 and bf16 are computed in f32. Any
// shape, zero elements too. Derivatives of any order in every argument, unless it says otherwise. Outside of traces
// each is compiled when it is first called with a dtype; time grows with the elements. Throws DTypeError for complex
// numbers, ShapeError where shapes do not broadcast.
#pragma once

#include <utility>

#include "tenon/ir/array.h"

namespace tenon {

// The cube root. Its derivative at 0 is infinite.
//   cbrt(-8.0)   // -2
Array cbrt(const Operand& x);
// 2^x, and the logarithms to the bases 2 and 10, which are exact of powers of two, and -∞ at 0, NaN below. Of complex
// numbers too.
//   exp2(3.0)    // 8
//   log2(8.0)    // 3
//   log10(1e3)   // 3
Array exp2(const Operand& x);
Array log2(const Operand& x);
Array log10(const Operand& x);
// The inverse hyperbolic functions: acosh is NaN below 1, atanh infinite at ±1 and NaN beyond. Of complex numbers too,
// as asin and its kin (tenon/ops/elementwise/arithmetic.h).
//   asinh(1.0)   // 0.8813736
//   acosh(2.0)   // 1.316958
//   atanh(0.5)   // 0.5493061
Array asinh(const Operand& x);
Array acosh(const Operand& x);
Array atanh(const Operand& x);
// sqrt(x² + y²), without overflow; infinite where either is, though the other is NaN.
//   hypot(3.0, 4.0)   // 5
Array hypot(const Operand& x, const Operand& y);

namespace special {

// log |Γ(x)|, infinite at 0, -1, -2, …
//   lgamma(0.5)   // log √π = 0.5723649
Array lgamma(const Operand& x);
// ψ(x), the derivative of lgamma; NaN at 0, -1, -2, …
//   digamma(1.0)   // -0.5772157
Array digamma(const Operand& x);
// The derivative of digamma of order n = 1, 2, …, and digamma itself of n = 0. Infinite at x = 0, -1, -2, …
//   polygamma(1, 1.0)   // π² / 6 = 1.644934
Array polygamma(const Operand& n, const Operand& x);
// The sign of Γ(x), NaN at -1, -2, …
//   gammasgn(-0.5)   // -1
Array gammasgn(const Operand& x);
// Γ(x), beyond 10 by its logarithm, as that of complex numbers: infinite at 0, NaN at -1, -2, …
//   gamma(5.0)   // 24
Array gamma(const Operand& x);
// n! = Γ(n + 1), 0 of negative numbers.
//   factorial(4)   // 24
Array factorial(const Operand& n);
// Γ(z + m) / Γ(z), Pochhammer's symbol.
//   poch(3.0, 2.0)   // 12
Array poch(const Operand& z, const Operand& m);
// The multivariate log-gamma function of d dimensions: Σ log Γ(a - j/2) over j < d, and d (d - 1) / 4 · log π. Throws
// ShapeError for d < 1. Time grows with d.
//   multigammaln(3.0, 2)   // log Γ(3) + log Γ(2.5) + log(π) / 2 = 1.550195
Array multigammaln(const Operand& a, std::int64_t d);
// B(a, b) = Γ(a) Γ(b) / Γ(a + b). Of n = 0, -1, -2, … and another number it is infinite, but for m = 1, 2, … -n, where
// what is infinite cancels, (-1)^m B(1 - n - m, m); 0 where a + b alone is such a number.
//   beta(2.0, 3.0)   // 1/12 = 0.08333333
//   beta(-1.0, 1.0)   // -1
Array beta(const Operand& a, const Operand& b);
// log |B(a, b)|: of positive numbers without cancellation, however large.
//   betaln(1.0, 1e10)   // -log 1e10 = -23.02585
Array betaln(const Operand& a, const Operand& b);
// Hurwitz's Σ 1 / (q + k)^x over k = 0, 1, 2, …, for x > 1 and q > 0, and for q < 0 where x is an integer: by Euler's
// and Maclaurin's formula. Infinite at x = 1, and where a term is: at q = 0, -1, -2, …; NaN elsewhere. Derivatives in
// q, and for q > 0 in x.
//   zeta(2.0, 1.0)   // π² / 6 = 1.644934
Array zeta(const Operand& x, const Operand& q = 1);

// The regularised lower incomplete gamma function P(a, x) = ∫₀ˣ exp(-t) t^(a-1) dt / Γ(a) of a > 0 and x ≥ 0; NaN
// elsewhere. In double precision, for a up to 1e4, within 3e-14 of the value where x ≤ a or x ≤ 1, and of 1 elsewhere.
//   gammainc(1.0, 2.0)   // 1 - exp(-2) = 0.8646647
Array gammainc(const Operand& a, const Operand& x);
// The regularised upper incomplete gamma function 1 - P(a, x) of a > 0 and x ≥ 0; NaN elsewhere. In double precision,
// for a up to 1e4, within 1e-13 of the value where x > a and x > 1, and of 1 elsewhere.
//   gammaincc(1.0, 2.0)   // exp(-2) = 0.1353353
Array gammaincc(const Operand& a, const Operand& x);
// The derivative of gammainc(a, x) in a.
//   gammainc_grad_a(1.0, 2.0)   // -0.2208254
Array gammainc_grad_a(const Operand& a, const Operand& x);
// The derivative in a of a variate x of the gamma distribution of shape a, whose gammainc(a, x) stays what it is.
//   gamma_variate_grad(1.0, 2.0)   // 1.631691
Array gamma_variate_grad(const Operand& a, const Operand& x);
// The regularised incomplete beta function ∫₀ˣ t^(a-1) (1-t)^(b-1) dt / B(a, b) of a, b > 0 and 0 ≤ x ≤ 1; NaN
// elsewhere. In double precision, for a and b between 1e-4 and 1e4, within 2e-11 of 1, and commonly within 1e-13.
//   betainc(2.0, 1.0, 0.5)   // 0.25
Array betainc(const Operand& a, const Operand& b, const Operand& x);

// x log y, and 0 where x is 0, whatever y is but NaN; of complex numbers, too.
//   xlogy(0.0, 0.0)   // 0
Array xlogy(const Operand& x, const Operand& y);
// x log(1 + y), and 0 where x is 0, whatever y is but NaN; of complex numbers, too.
//   xlog1py(0.0, -1.0)   // 0
Array xlog1py(const Operand& x, const Operand& y);
// -x log x, and -∞ below 0.
//   entr(0.5)   // 0.3465736
Array entr(const Operand& x);
// p log(p / q): 0 where p alone is 0, infinite where either is negative, or q alone is 0.
//   rel_entr(2.0, 1.0)   // 2 log 2 = 1.386294
Array rel_entr(const Operand& p, const Operand& q);
// rel_entr(p, q) - p + q.
//   kl_div(2.0, 1.0)   // 0.3862944
Array kl_div(const Operand& p, const Operand& q);
// (x^λ - 1) / λ, and log x where λ is 0: Box's and Cox's transformation, NaN for x < 0; of complex numbers, too.
//   boxcox(4.0, 0.5)   // 2
Array boxcox(const Operand& x, const Operand& lmbda);
// boxcox(1 + x, lmbda), exact near x = 0; of complex numbers, too.
//   boxcox1p(3.0, 0.5)   // 2
Array boxcox1p(const Operand& x, const Operand& lmbda);
// n! / (k! (n - k)!), the ways to choose k of n, and 0 where k or n - k is negative; with repetition those of n + k
// - 1.
//   comb(5.0, 2.0)   // 10
Array comb(const Operand& n, const Operand& k, bool repetition = false);
// log(x / (1 - x)), NaN outside of [0, 1]; of complex numbers, too.
//   logit(0.75)   // log 3 = 1.098612
Array logit(const Operand& x);

// I₀(x), the function of Bessel's of imaginary argument and order 0.
//   i0(1.0)   // 1.266066
Array i0(const Operand& x);
// I₁(x), the function of Bessel's of imaginary argument and order 1.
//   i1(1.0)   // 0.5651591
Array i1(const Operand& x);
// exp(-|x|) I₀(x).
//   i0e(1.0)   // 0.4657596
Array i0e(const Operand& x);
// exp(-|x|) I₁(x).
//   i1e(1.0)   // 0.2079104
Array i1e(const Operand& x);
// Bessel's functions of the first kind J₀(z) … J_v(z), along a new first axis: by Miller's recurrence from the order
// n_iter down (v where that is more), which is to be beyond |z| by some 25. Throws ShapeError for v < 0 and n_iter < 1.
//   bessel_jn(2.0, 1)   // 0.2238908, 0.5767248
Array bessel_jn(const Operand& z, std::int64_t v, std::int64_t n_iter = 50);
// The spherical harmonic of degree n and order m at the colatitude θ and the longitude φ, complex, with the sign
// (-1)^m of Condon and Shortley; 0 where |m| > n. n and m are integers, n at most n_max: it is that where it is larger.
// Time grows with n_max.
//   sph_harm_y(1, 0, 0.0, 0.0, 1)   // √(3 / 4π) = 0.4886025 + 0i
Array sph_harm_y(const Operand& n, const Operand& m, const Operand& theta, const Operand& phi, std::int64_t n_max);

// exp(x²) erfc(x), without underflow: within 1e-15 of the value (4e-7 in single precision). Of complex numbers as
// wofz(ix).
//   erfcx(10.0)   // 0.05614099
Array erfcx(const Operand& x);
// Dawson's integral exp(-x²) ∫₀ˣ exp(t²) dt: within 1e-15 of the value (4e-7 in single precision).
//   dawsn(1.0)   // 0.5380795
Array dawsn(const Operand& x);
// Faddeeva's function exp(-z²) erfc(-iz), of real or complex numbers; complex. In double precision within 1e-14 of the
// value but near its zeros, which lie below the real axis.
//   wofz(1.0)   // 0.3678794 + 0.6071577i
Array wofz(const Operand& z);
// The principal branch of log Γ(z) of complex numbers, with its cut along the negative numbers; of real ones NaN below
// 0. Of complex numbers within 1e-14 of the value, or of 1.
//   loggamma(5.0)   // log 24 = 3.178054
Array loggamma(const Operand& x);
// The probability that a standard normal number is at most x: within 2e-15 of the value in both tails.
//   ndtr(0.0)   // 0.5
Array ndtr(const Operand& x);
// log(ndtr(x)), without underflow: within 2e-15 of the value in both tails.
//   log_ndtr(-100.0)   // -5005.524
Array log_ndtr(const Operand& x);
// The x with ndtr(x) = p, NaN outside of [0, 1]: within 2e-15 of the value in both tails.
//   ndtri(1e-10)   // -6.361341
Array ndtri(const Operand& p);
// Owen's T: the probability of x > h and 0 < y < ax, of standard normal numbers x and y.
//   owens_t(1.0, 1.0)   // 0.06674188
Array owens_t(const Operand& h, const Operand& a);

// The exponential integral E₁(x) = ∫ exp(-t) / t dt from x on: infinite at 0, NaN below. Within a few 1e-15 of the
// value.
//   exp1(1.0)   // 0.2193839
Array exp1(const Operand& x);
// The exponential integral Ei(x), Cauchy's principal value of ∫ exp(t) / t dt up to x. Within a few 1e-15 of the value,
// near its zero too.
//   expi(1.0)   // 1.895118
Array expi(const Operand& x);
// E_n(x) = ∫ exp(-xt) / t^n dt from 1 on, of n = 0, 1, 2, … and x ≥ 0, NaN elsewhere; n is held constant in
// derivatives. Within a few 1e-15 of the value.
//   expn(2, 1.0)   // 0.1484955
Array expn(const Operand& n, const Operand& x);
// The sine and cosine integrals Si(x) = ∫ sin(t) / t dt from 0 on, and Ci(x) = -∫ cos(t) / t dt from |x| on. Within a
// few 1e-16 of 1.
//   sici(1.0)   // 0.9460831, 0.3374039
std::pair<Array, Array> sici(const Operand& x);
// Fresnel's S(x) = ∫ sin(πt²/2) dt and C(x) = ∫ cos(πt²/2) dt from 0 on. Within a few 1e-16 of the value.
//   fresnel(1.0)   // 0.4382591, 0.7798934
std::pair<Array, Array> fresnel(const Operand& x);
// Spence's function ∫ log(t) / (1 - t) dt from 1 to x, the dilogarithm of 1 - x: NaN below 0.
//   spence(0.0)   // π² / 6 = 1.644934
Array spence(const Operand& x);

// Kummer's function ₁F₁(a; b; x), infinite where b is 0, -1, … before a ends the sum. Derivatives in every argument. In
// double precision within 1e-13 of the value where parameters are positive and below 20; digits are lost by
// cancellation where b - a or a is large and negative.
//   hyp1f1(1.0, 2.0, 1.0)   // e - 1 = 1.718282
Array hyp1f1(const Operand& a, const Operand& b, const Operand& x);
// Gauss's function ₂F₁(a, b; c; x) of x < 1, and of x > 1 where a or b ends the sum; infinite elsewhere, and where c is
// 0, -1, … before an upper parameter ends the sum. Derivatives in every argument. In double precision within 1e-13 of
// the value where parameters are positive and below 20; digits are lost by cancellation where upper ones are large and
// negative, and near x = 1 where c - a - b is near to an integer and is none.
//   hyp2f1(1.0, 1.0, 2.0, 0.5)   // 2 log 2 = 1.386294
Array hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& x);

// Bernoulli's numbers B₀, …, B_n, where B₁ is -1/2, in double precision. Throws ShapeError for n < 0.
//   bernoulli(2)   // 1, -0.5, 0.1666667
Array bernoulli(std::int64_t n);

}  // namespace special

}  // namespace tenon
