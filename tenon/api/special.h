// Special functions of real arrays, element by element.
//
// Operands promote and broadcast; integers become f32 (64-bit ones f64), and f16 and bf16 are computed in f32. Any
// shape, zero elements too. Derivatives of any order in every argument, unless it says otherwise. Outside of traces
// each is compiled when it is first called with a dtype; time grows with the elements. Throws DTypeError for complex
// numbers, ShapeError where shapes do not broadcast.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// The cube root. Its derivative at 0 is infinite.
//   cbrt(-8.0)   // -2
Array cbrt(const Operand& x);

namespace special {

// log |Γ(x)|, infinite at 0, -1, -2, …
//   lgamma(0.5)   // log √π = 0.5723649
Array lgamma(const Operand& x);
// ψ(x), the derivative of lgamma; NaN at 0, -1, -2, …
//   digamma(1.0)   // -0.5772157
Array digamma(const Operand& x);
// The derivative of digamma of order m = 1, 2, …, and digamma itself of m = 0. Infinite at x = 0, -1, -2, …
//   polygamma(1, 1.0)   // π² / 6 = 1.644934
Array polygamma(const Operand& m, const Operand& x);
// The sign of Γ(x), NaN at -1, -2, …; Γ(x) itself, beyond 10 by its logarithm; n! = Γ(n + 1), 0 of negative numbers;
// and Γ(z + m) / Γ(z), Pochhammer's symbol.
//   gamma(5.0)       // 24
//   factorial(4)     // 24
//   poch(3.0, 2.0)   // 12
Array gammasgn(const Operand& x);
Array gamma(const Operand& x);
Array factorial(const Operand& n);
Array poch(const Operand& z, const Operand& m);
// The multivariate log-gamma function of d dimensions: Σ log Γ(a - j/2) over j < d, and d (d - 1) / 4 · log π. Throws
// ShapeError for d < 1. Time grows with d.
//   multigammaln(3.0, 2)   // log Γ(3) + log Γ(2.5) + log(π) / 2 = 1.550195
Array multigammaln(const Operand& a, std::int64_t d);
// B(a, b) = Γ(a) Γ(b) / Γ(a + b), and log |B(a, b)|: of positive numbers without cancellation, however large.
//   beta(2.0, 3.0)   // 1/12
Array beta(const Operand& a, const Operand& b);
Array betaln(const Operand& a, const Operand& b);
// Hurwitz's Σ 1 / (q + k)^s over k = 0, 1, 2, …, for s > 1 and q > 0, and for q < 0 where s is an integer: by Euler's
// and Maclaurin's formula. Infinite at s = 1, and where a term is: at q = 0, -1, -2, …; NaN elsewhere. Derivatives in
// q, and for q > 0 in s.
//   zeta(2.0, 1.0)   // π² / 6 = 1.644934
Array zeta(const Operand& s, const Operand& q);

// The regularised lower and upper incomplete gamma functions P(a, x) = ∫₀ˣ exp(-t) t^(a-1) dt / Γ(a) and Q = 1 - P, of
// a > 0 and x ≥ 0; NaN elsewhere. In double precision, for a up to 1e4: P within 3e-14 of the value where x ≤ a or x ≤
// 1, and of 1 elsewhere; Q within 1e-13 of the value where x > a and x > 1, and of 1 elsewhere.
//   gammainc(1.0, 2.0)    // 1 - exp(-2) = 0.8646647
//   gammaincc(1.0, 2.0)   // exp(-2) = 0.1353353
Array gammainc(const Operand& a, const Operand& x);
Array gammaincc(const Operand& a, const Operand& x);
// The derivative of P(a, x) in a; and that of a variate x of the gamma distribution of shape a, whose P(a, x) stays
// what it is.
Array gammainc_grad_a(const Operand& a, const Operand& x);
Array gamma_variate_grad(const Operand& a, const Operand& x);
// The regularised incomplete beta function ∫₀ˣ t^(a-1) (1-t)^(b-1) dt / B(a, b) of a, b > 0 and 0 ≤ x ≤ 1; NaN
// elsewhere. In double precision, for a and b between 1e-4 and 1e4, within 2e-11 of 1, and commonly within 1e-13.
//   betainc(2.0, 1.0, 0.5)   // 0.25
Array betainc(const Operand& a, const Operand& b, const Operand& x);

// x log y and x log(1 + y), which are 0 where x is, whatever y is but NaN.
//   xlogy(0.0, 0.0)   // 0
Array xlogy(const Operand& x, const Operand& y);
Array xlog1py(const Operand& x, const Operand& y);
// -x log x, -∞ below 0; x log(x / y), and x log(x / y) - x + y: infinite where x or y is negative, or y alone is 0.
//   entr(0.5)            // 0.3465736
//   rel_entr(2.0, 1.0)   // 2 log 2 = 1.386294
//   kl_div(2.0, 1.0)     // 0.3862944
Array entr(const Operand& x);
Array rel_entr(const Operand& x, const Operand& y);
Array kl_div(const Operand& x, const Operand& y);
// log(x / (1 - x)), NaN outside of [0, 1].
//   logit(0.75)   // log 3 = 1.098612
Array logit(const Operand& x);

// Bessel's functions of imaginary argument I₀ and I₁, and those times exp(-|x|).
//   i0(1.0)   // 1.266066
Array i0(const Operand& x);
Array i1(const Operand& x);
Array i0e(const Operand& x);
Array i1e(const Operand& x);

}  // namespace special

}  // namespace tenon
